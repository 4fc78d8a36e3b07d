#include "server/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/time.h"
#include "server/store_settings.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kHash(64, 'a');

// FOLDER stands for a temporary one.
class ConfigCheck : public ::testing::Test {
 protected:
  // A line for each finding: "error KEY: WHAT".
  std::vector<std::string> findings(std::string toml, ServerRole role = ServerRole::kServer) {
    for (size_t at = toml.find("FOLDER"); at != std::string::npos; at = toml.find("FOLDER")) {
      toml.replace(at, std::string_view("FOLDER").size(), folder_.path());
    }
    write("server.toml", toml);
    const auto config = config::load_server_config({.path = folder_ / "server.toml"});
    EXPECT_TRUE(config) << config.error().text();
    std::vector<std::string> lines;
    for (const ConfigFinding& finding :
         check_config(*config, role, *parse_time_ns("2027-01-01T00:00:00Z", 0))) {
      lines.push_back(
          fmt::format("{} {}: {}", finding.is_error ? "error" : "warning", finding.key, finding.what));
    }
    return lines;
  }
  void write_secret(const std::string& name, std::string_view text) {
    write(name, text);
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_read);
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(ConfigCheck, FindsNothingWhereAllIsWell) {
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/data\"\n[draw]\ninterval = \"10min\"\n"), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data")) << "a check makes nothing";
}

TEST_F(ConfigCheck, NamesADebuginfodThatIsNone) {
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/data\"\n[symbols]\ndebuginfod = [\"localhost:8002\"]\n"),
              ElementsAre(AllOf(StartsWith("error symbols.debuginfod"), HasSubstr("http://HOST:PORT"))));
}

TEST_F(ConfigCheck, NamesAnObjectStoreThatIsNone) {
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/data\"\n[objects]\naddress = \"s3://profiles\"\n"),
              ElementsAre(AllOf(StartsWith("error objects.address"), HasSubstr("https://HOST"))));
}

TEST_F(ConfigCheck, NamesObjectsThatWouldBeLostWithTheData) {
  const auto with_objects = [this](const std::string& folder) {
    return findings("[server]\ndata = \"FOLDER/data\"\n[objects]\naddress = \"file://" + folder + "\"\n");
  };
  for (const char* const folder :
       {"FOLDER/data", "FOLDER/data/", "FOLDER/data/objects", "FOLDER/other/../data/a"}) {
    EXPECT_THAT(with_objects(folder), ElementsAre(AllOf(StartsWith("error objects.address"),
                                                        HasSubstr("is in the data directory"))))
        << folder;
  }
  std::filesystem::create_directory(folder_ / "data");
  std::filesystem::create_directory_symlink(folder_ / "data", folder_ / "link");
  EXPECT_THAT(with_objects("FOLDER/link/objects"), ElementsAre(StartsWith("error objects.address")));
  EXPECT_THAT(with_objects("FOLDER/data-objects"), ElementsAre(AllOf(StartsWith("warning objects.address"),
                                                                     HasSubstr("on the disk of the data"))));
  EXPECT_THAT(with_objects("/proc/objects"), IsEmpty()) << "another file system";
}

TEST_F(ConfigCheck, NamesAnAddressOfRowsThatIsNone) {
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/data\"\n[store]\naddress = \"http://db/p\"\n"),
              ElementsAre(AllOf(StartsWith("error store.address: "), HasSubstr("clickhouse://"))));
  const std::string with_password =
      "[server]\ndata = \"FOLDER/data\"\n[store]\naddress = \"clickhouse://db/p\"\n"
      "password_file = \"FOLDER/password\"\n";
  EXPECT_THAT(findings(with_password),
              ElementsAre(AllOf(StartsWith("error store.address: "), HasSubstr(folder_ / "password"))));
  write("password", "secret\n");
  std::filesystem::permissions(folder_ / "password", std::filesystem::perms::owner_read);
  EXPECT_THAT(findings(with_password), IsEmpty());
}

// The data directory keeps them, and "plimsoll top --data" may be run in any folder.
TEST(StoreSettings, FilesOfTheRowsAddressAreAbsolute) {
  config::ServerConfig config;
  config.store_address = "clickhouses://db/p";
  config.store_password_file = "password";
  const store::RowsAddress rows = rows_address(config);
  EXPECT_EQ(rows.address, "clickhouses://db/p");
  EXPECT_EQ(rows.password_file, (std::filesystem::current_path() / "password").string());
  EXPECT_EQ(rows.ca, "");
}

TEST(StoreSettings, TheQuorumCountsWhereTablesAreReplicated) {
  config::ServerConfig config;
  config.store_address = "clickhouse://a,b,c/p";
  config.store_insert_quorum = 3;
  EXPECT_EQ(rows_address(config).insert_quorum, 0);
  config.store_replicated = true;
  EXPECT_EQ(rows_address(config).insert_quorum, 3);
}

TEST_F(ConfigCheck, EachShardOfTheRowsIsADatabaseOfItsOwn) {
  const std::string head = "[server]\ndata = \"FOLDER/data\"\n[store]\naddress = \"clickhouse://a/p\"\n";
  EXPECT_THAT(findings(head + "shards = [\"clickhouse://b/p\", \"clickhouse://a/q\"]\n"), IsEmpty());
  EXPECT_THAT(findings(head + "shards = [\"clickhouse://a/p\"]\n"),
              ElementsAre(AllOf(StartsWith("error store.shards: "), HasSubstr("listed twice"))));
  EXPECT_THAT(findings(head + "shards = [\"http://b/p\"]\n"),
              ElementsAre(AllOf(StartsWith("error store.shards: "), HasSubstr("clickhouse://"))));
}

TEST_F(ConfigCheck, SeveralHostsOfTheRowsRequireReplicatedTables) {
  const std::string head = "[server]\ndata = \"FOLDER/data\"\n[store]\naddress = \"clickhouse://a,b/p\"\n";
  EXPECT_THAT(findings(head),
              ElementsAre(AllOf(StartsWith("error store.address: "), HasSubstr("store.replicated = true"))));
  EXPECT_THAT(findings(head + "replicated = true\n"), IsEmpty());
}

TEST_F(ConfigCheck, NamesWhatWouldKeepAServerFromStarting) {
  std::filesystem::create_directory(folder_ / "letters");
  write("letters/to-mother.txt", "dear");
  write("key.pem", "no key");
  write("machines.csv", "machine,datacenter\nweb-1,eu\nweb-1,us\n");
  std::filesystem::permissions(folder_ / "key.pem", std::filesystem::perms::owner_read);
  EXPECT_THAT(
      findings("[server]\ndata = \"FOLDER/letters\"\nlisten = \"0.0.0.0:7070\"\nfleet_listen = \"7071\"\n"
               "certificate = \"FOLDER/none.pem\"\nkey = \"FOLDER/key.pem\"\n"
               "[draw]\ninterval = \"1min\"\n[collect]\nwindow = \"2min\"\n"
               "[inventory]\nmachines = \"FOLDER/machines.csv\"\njobs = \"https://inventory/jobs\"\n"),
      ElementsAre(StartsWith("error server.data: " + folder_.path() + "/letters is not a Plimsoll"),
                  AllOf(StartsWith("error server.listen: "), HasSubstr("without authentication")),
                  StartsWith("error server.fleet_listen: listening on '7071': not an address"),
                  AllOf(StartsWith("error server.certificate: "), HasSubstr("none.pem")),
                  StartsWith("error collect.window: "),
                  AllOf(StartsWith("error inventory.machines: "), HasSubstr("web-1"))));
}

TEST_F(ConfigCheck, NamesBurstsThatCannotBeRecorded) {
  const auto recording = [this](const std::string& bursts) {
    return findings("[server]\ndata = \"FOLDER/data\"\n[draw]\ninterval = \"10min\"\n[bursts]\n" + bursts);
  };
  EXPECT_THAT(recording("config = \"7,8\""), IsEmpty());
  EXPECT_THAT(recording("config = \"7;8\""), ElementsAre(StartsWith("error bursts.config: ")));
  EXPECT_THAT(recording("config = \"7,8\"\nduration = \"20min\""),
              ElementsAre(StartsWith("error bursts.duration: ")));
  EXPECT_THAT(recording("config = \"7,8\"\nevents = [\"weather\"]"),
              ElementsAre(AllOf(StartsWith("error bursts.events: "), HasSubstr("weather"))));
  write("server.toml", "[bursts]\nconfig = \"7,8\"\n");
  const auto without_draws = config::load_server_config({.path = folder_ / "server.toml"});
  ASSERT_FALSE(without_draws);
  EXPECT_EQ(without_draws.error().field, "bursts.config");
}

// At 99 stacks per second a CPU has 0.185 % less: of 8 % of the machines, for 10 s of 15 s, 0.00987 % of all.
TEST_F(ConfigCheck, WarnsOfDrawsThatCostMoreThanTheirBudget) {
  const auto drawing = [this](const std::string& draw, const std::string& collect = "") {
    return findings("[server]\ndata = \"FOLDER/data\"\n[draw]\n" + draw + "\n[collect]\n" + collect + "\n");
  };
  EXPECT_THAT(drawing("interval = \"15s\"\npercent = 8"), IsEmpty());
  EXPECT_THAT(
      drawing("interval = \"15s\"\npercent = 9"),
      ElementsAre(AllOf(StartsWith("warning draw.max_overhead_percent: drawing 9 % of the machines every "
                                   "15s for 10s is expected to take 0.011 % of the fleet's CPU time, more "
                                   "than 0.01 %"),
                        HasSubstr("Set draw.percent to at most 8.1"))));
  // Half as many stacks, a longer interval or a shorter window cost less.
  EXPECT_THAT(drawing("interval = \"15s\"\npercent = 9", "stack_rate_hz = 49"), IsEmpty());
  EXPECT_THAT(drawing("interval = \"20s\"\npercent = 9"), IsEmpty());
  EXPECT_THAT(drawing("interval = \"15s\"\npercent = 9", "window = \"5s\""), IsEmpty());
  EXPECT_THAT(drawing("interval = \"15s\"\npercent = 9\nmax_overhead_percent = 0.02"), IsEmpty());
  EXPECT_THAT(drawing("interval = \"15s\"\nmachines = 1000"), IsEmpty()) << "of how many, is not known";
  EXPECT_THAT(drawing("percent = 100"), IsEmpty()) << "nothing is drawn";
}

TEST_F(ConfigCheck, WarnsOfWhatMayNotBeMeant) {
  EXPECT_THAT(
      findings("[server]\ndata = \"FOLDER/data\"\nlisten = \"0.0.0.0:7070\"\n"
               "[[access.tokens]]\nname = \"old\"\nrole = \"read\"\nexpires = \"2026-12-31\"\nsha256 = \"" +
               kHash + "\"\n[[access.tokens]]\nname = \"soon\"\nrole = \"read\"\nexpires = \"2027-01-10\"\n" +
               "sha256 = \"" + std::string(64, 'b') + "\"\n[symbols]\nroots = [\"/usr\", \"FOLDER/gone\"]\n"),
      ElementsAre(AllOf(StartsWith("warning server.listen: 0.0.0.0:7070"), HasSubstr("without TLS")),
                  "warning access.tokens: the token of old has expired (2026-12-31)",
                  "warning access.tokens: the token of soon expires on 2027-01-10",
                  AllOf(StartsWith("warning symbols.roots: "), HasSubstr("/gone"))));
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/data\"\n[access]\nallow_unauthenticated = true\n"),
              ElementsAre(StartsWith("warning access.allow_unauthenticated: ")));
}

TEST_F(ConfigCheck, LooksAtSourceRoots) {
  const auto roots = [this](const std::string& list) {
    return findings("[server]\ndata = \"FOLDER/data\"\n[sources]\nroots = [" + list + "]\n");
  };
  EXPECT_THAT(roots("\"/usr\", \"/build/dir = /usr\""), IsEmpty());
  EXPECT_THAT(roots("\"/build = FOLDER/gone\""),
              ElementsAre(AllOf(StartsWith("warning sources.roots: "), HasSubstr("/gone is not a folder"))));
  EXPECT_THAT(roots("\"src\""),
              ElementsAre(AllOf(HasSubstr("sources.roots"), HasSubstr("is not a source root"))));
}

TEST_F(ConfigCheck, LooksAtSourceServers) {
  const auto urls = [this](const std::string& list) {
    return findings("[server]\ndata = \"FOLDER/data\"\n[sources]\nurls = [" + list + "]\n");
  };
  EXPECT_THAT(urls("\"/build = https://code.example/{path}\""), IsEmpty());
  EXPECT_THAT(urls("\"https://code.example/{path}\""),
              ElementsAre(AllOf(HasSubstr("sources.urls"), HasSubstr("is not a source server"))));
}

TEST_F(ConfigCheck, RolesNeedNoDataDirectory) {
  write_secret("token", "plm_0123456789abcdef\n");
  EXPECT_THAT(findings("[symbolizer]\nserver = \"https://plimsoll:7070\"\ntoken_file = \"FOLDER/token\"\n",
                       ServerRole::kSymbolizer),
              IsEmpty());
  EXPECT_THAT(findings("[ingest]\nserver = \"https://plimsoll:7071\"\ntoken_file = \"FOLDER/token\"\n",
                       ServerRole::kIngest),
              IsEmpty());
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/query\"\n"
                       "[primary]\nserver = \"https://plimsoll:7070\"\ntoken_file = \"FOLDER/token\"\n",
                       ServerRole::kQuery),
              IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "query")) << "a check makes nothing";
}

TEST_F(ConfigCheck, RolesNeedTheirServer) {
  EXPECT_THAT(findings("", ServerRole::kSymbolizer), ElementsAre(StartsWith("error symbolizer.server: ")));
  EXPECT_THAT(findings("", ServerRole::kIngest), ElementsAre(StartsWith("error ingest.server: ")));
  EXPECT_THAT(findings("", ServerRole::kQuery), ElementsAre(StartsWith("error server.data: ")));
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/query\"\n", ServerRole::kQuery),
              ElementsAre(StartsWith("error primary.server: ")));
  std::filesystem::create_directory(folder_ / "data");
  write("data/FORMAT", "9\n");
  EXPECT_THAT(
      findings("[server]\ndata = \"FOLDER/data\"\n[primary]\nserver = \"127.0.0.1:7070\"\n",
               ServerRole::kQuery),
      ElementsAre(AllOf(StartsWith("error server.data: "), HasSubstr("is the data directory of a server"))));
}

TEST_F(ConfigCheck, RolesNameFilesThatTheyCannotRead) {
  write("empty", "\n");
  std::filesystem::permissions(folder_ / "empty",
                               std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  EXPECT_THAT(findings("[ingest]\nserver = \"plimsoll:7071\"\ntoken_file = \"FOLDER/empty\"\n"
                       "server_ca = \"FOLDER/none.pem\"\n",
                       ServerRole::kIngest),
              ElementsAre(StartsWith("error ingest.token_file: "),
                          AllOf(StartsWith("error ingest.server_ca: "), HasSubstr("none.pem")),
                          AllOf(StartsWith("warning ingest.token_file: "), HasSubstr("chmod 600"))));
  EXPECT_THAT(findings("[server]\ndata = \"FOLDER/query\"\n[primary]\nserver = \"https://plimsoll:7070\"\n"
                       "[store]\npassword_file = \"FOLDER/none\"\n",
                       ServerRole::kQuery),
              ElementsAre(StartsWith("error store.password_file: ")));
}

TEST_F(ConfigCheck, RolesWarnOfWhatGoesUnencryptedToTheirServer) {
  const auto asking = [this](const std::string& server) {
    return findings("[server]\ndata = \"FOLDER/query\"\n[primary]\nserver = \"" + server + "\"\n",
                    ServerRole::kQuery);
  };
  EXPECT_THAT(asking("plimsoll:7070"),
              ElementsAre(AllOf(StartsWith("warning primary.server: "), HasSubstr("https://plimsoll:7070"))));
  EXPECT_THAT(asking("http://plimsoll:7070"),
              ElementsAre(AllOf(StartsWith("warning primary.server: "), HasSubstr("https://plimsoll:7070"))));
  EXPECT_THAT(asking("127.0.0.1:7070"), IsEmpty());
  EXPECT_THAT(asking("https://plimsoll:7070"), IsEmpty());
}

// Daemons are authenticated by the server that the ingest server asks; what asks for its health is not.
TEST_F(ConfigCheck, IngestServersAreReachedByDaemonsWithAToken) {
  write_secret("token", "plm_0123456789abcdef\n");
  const std::string addresses = "[server]\nlisten = \"0.0.0.0:7070\"\nfleet_listen = \"0.0.0.0:7071\"\n";
  const std::string server = "[ingest]\nserver = \"https://plimsoll:7071\"\n";
  EXPECT_THAT(findings(addresses + server, ServerRole::kIngest),
              ElementsAre(StartsWith("error server.fleet_listen: "), StartsWith("error server.listen: ")));
  EXPECT_THAT(findings(addresses + server + "token_file = \"FOLDER/token\"\n", ServerRole::kIngest),
              ElementsAre(AllOf(StartsWith("warning server.fleet_listen: "), HasSubstr("without TLS")),
                          StartsWith("error server.listen: ")));
}

}  // namespace
}  // namespace plimsoll::server
