// Traces in files, as a user gives them to `plimsoll diagnose` and `plimsoll trace show`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/e2e/slow_shop.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// Without the commands for profiles, which name where the answer comes from.
std::string tree_in(const std::string& shown) {
  return shown.substr(0, shown.find("\nprofiles: "));
}

// Those of a resource have other names in each format.
Json without_attributes(Json trace) {
  for (Json& span : trace["spans"]) {
    span.erase("attributes");
  }
  return trace;
}

class Diagnose : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder_ / "traces.csv") << slow_shop_table(); }

  Finished diagnose(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"plimsoll", "diagnose", "--traces", folder_ / "traces.csv"});
    return run(arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(Diagnose, NamesTheServiceThatIsSlowInTheWindow) {
  const Finished found =
      diagnose({"--since", "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z", "--json"});
  ASSERT_EQ(found.status, 0) << found.err;
  const Json rows = Json::parse(found.out)["rows"];
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0]["rank"], 1);
  EXPECT_EQ(rows[0]["service"], "db");
  EXPECT_EQ(rows[0]["method"], "Query");
  EXPECT_EQ(rows[0]["replica"], "db-0");
  EXPECT_EQ(rows[0]["machine"], "host-1");
  EXPECT_EQ(rows[0]["kind"], "slow itself");
  // Without a gap that moved a service has 15 % of what it explains (docs/diagnosis.md).
  EXPECT_GT(rows[0]["score"], 0.1);
  EXPECT_GT(rows[0]["confidence"], 0.5);
}

TEST_F(Diagnose, SaysThatNothingStandsOut) {
  const Finished found =
      diagnose({"--since", "2026-11-21T07:05:00Z", "--until", "2026-11-21T07:08:00Z", "--reference-since",
                "2026-11-21T07:00:00Z", "--reference-until", "2026-11-21T07:10:00Z"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("nothing stands out among"), Not(HasSubstr("slow itself"))));
}

TEST_F(Diagnose, HasTheMethodsOfThePaper) {
  const auto rows_by = [this](const char* by, const char* service) {
    std::vector<std::string> arguments{
        "--by", by, "--json", "--since", "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z"};
    if (*service != '\0') {
      arguments.insert(arguments.end(), {"--service", service});
    }
    const Finished found = diagnose(arguments);
    EXPECT_EQ(found.status, 0) << by << found.err;
    return found.status == 0 ? Json::parse(found.out)["rows"] : Json();
  };
  for (const char* service : {"", "db"}) {
    const Json rows = rows_by("clouddiag", service);
    ASSERT_EQ(rows.size(), 1) << service;
    EXPECT_EQ(rows[0]["service"], "db");
    EXPECT_EQ(rows[0]["method"], "Query");
    EXPECT_EQ(rows[0]["kind"], "anomalous");
  }
  EXPECT_EQ(rows_by("clouddiag", "web"), Json::array());
  // A fault that moves all methods above it alike is what these two do not see (docs/diagnosis.md).
  EXPECT_EQ(rows_by("clouddiag-paper", ""), Json::array());
  EXPECT_EQ(rows_by("pca", ""), Json::array());
}

TEST_F(Diagnose, HasAllMethodsOneAfterTheOther) {
  const Finished found = diagnose(
      {"--by", "all", "--json", "--since", "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z"});
  ASSERT_EQ(found.status, 0) << found.err;
  const Json answer = Json::parse(found.out);
  std::vector<std::string> methods;
  for (const Json& row : answer["rows"]) {
    const std::string by = row["by"];
    if (methods.empty() || methods.back() != by) {
      methods.push_back(by);
      EXPECT_EQ(row["rank"], 1) << row;
      EXPECT_EQ(row["service"], "db") << row;
    }
  }
  EXPECT_THAT(methods, ElementsAre("plimsoll", "clouddiag"));
}

TEST_F(Diagnose, ListsKindsOfRequest) {
  const Finished found = diagnose(
      {"--by", "category", "--json", "--since", "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z"});
  ASSERT_EQ(found.status, 0) << found.err;
  const Json rows = Json::parse(found.out)["rows"];
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0]["service"], "web");
  EXPECT_EQ(rows[0]["kind"], "slower");
  EXPECT_EQ(rows[0]["requests"], 180);
  EXPECT_GT(rows[0]["p50_low"], 50'000'000);
  EXPECT_LT(rows[0]["reference_p50"], 20'000'000);
  const Finished course = diagnose({"--by", "tree", "--every", "5m", "--csv"});
  ASSERT_EQ(course.status, 0) << course.err;
  EXPECT_THAT(course.out,
              AllOf(HasSubstr("2026-11-21T07:00:00Z,web"), HasSubstr("2026-11-21T07:15:00Z,web")));
  const Finished refused = diagnose({"--every", "5m"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("by category or tree"));
}

TEST_F(Diagnose, ExplainsWhatIsWrong) {
  const auto why = [this](std::vector<std::string> arguments, int status) {
    const Finished refused = diagnose(std::move(arguments));
    EXPECT_EQ(refused.status, status) << refused.err;
    return refused.err;
  };
  EXPECT_THAT(why({"--since", "yesterday"}, 2), AllOf(HasSubstr("not a time"), HasSubstr("--since")));
  EXPECT_THAT(why({"--reference-since", "1h", "--reference-until", "2h"}, 2),
              HasSubstr("the time range is empty"));
  EXPECT_THAT(why({"--since", "2027-01-01T00:00:00Z"}, 1),
              AllOf(HasSubstr("no request of"), HasSubstr("the requests are from 2026-11-21T07:00:0")));
  EXPECT_THAT(why({"--service", "dd"}, 2), HasSubstr("did you mean db?"));
  std::ofstream(folder_ / "other") << "no traces\n";
  const Finished other = run({"plimsoll", "diagnose", "--traces", folder_ / "other"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err,
              AllOf(HasSubstr(folder_ / "other"), HasSubstr("not request traces in a known format")));
}

TEST_F(Diagnose, ReadsFolders) {
  std::filesystem::create_directory(folder_ / "traces");
  std::filesystem::rename(folder_ / "traces.csv", folder_ / "traces/a.csv");
  const Finished found = run({"plimsoll", "diagnose", "--traces", folder_ / "traces", "--since",
                              "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z"});
  EXPECT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("db"));
}

TEST_F(Diagnose, ShowsOneTraceAsATree) {
  const Finished shown = run(
      {"plimsoll", "trace", "show", "4bf92f3577b34da6a3ce929d0e0e4736", "--traces", folder_ / "traces.csv"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("trace 4bf92f3577b34da6a3ce929d0e0e4736, 3 spans"),
                               HasSubstr("web get on web-0"),
                               HasSubstr("  web db.Query on web-0 (self: network and queues)"),
                               HasSubstr("    db Query on db-0")));
  const Finished json =
      run({"plimsoll", "trace", "show", "4BF92F35", "--traces", folder_ / "traces.csv", "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const Json document = Json::parse(json.out);
  ASSERT_EQ(document["spans"].size(), 3);
  EXPECT_EQ(document["spans"][2]["parent"], document["spans"][1]["span"]);
  const Finished exported =
      run({"plimsoll", "trace", "show", "4BF92F35", "--traces", folder_ / "traces.csv", "--export", "otlp"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  // What is exported is read as what it was.
  std::ofstream(folder_ / "exported.json") << exported.out;
  const Finished again =
      run({"plimsoll", "trace", "show", "4BF92F35", "--traces", folder_ / "exported.json", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(without_attributes(Json::parse(again.out)), without_attributes(document));
  const Finished none = run({"plimsoll", "trace", "show", "abc", "--traces", folder_ / "traces.csv"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no such trace: abc"));
}

// The same answers as from the file, however often it is imported.
TEST_F(Diagnose, ReadsTracesThatWereImported) {
  for (int time = 0; time < 2; ++time) {
    const Finished imported = run({"plimsoll", "import", "--data", folder_ / "data", folder_ / "traces.csv"});
    ASSERT_EQ(imported.status, 0) << imported.err;
    EXPECT_THAT(imported.out, HasSubstr("spans of request traces (CSV)"));
  }
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Finished from_file = run({"plimsoll", "trace", "show", id, "--traces", folder_ / "traces.csv"});
  const Finished from_store = run({"plimsoll", "trace", "show", id, "--data", folder_ / "data"});
  ASSERT_EQ(from_store.status, 0) << from_store.err;
  EXPECT_EQ(tree_in(from_store.out), tree_in(from_file.out));
  EXPECT_THAT(from_store.out,
              HasSubstr("--where hostname=host-1 --since 2026-11-21T07:01:10Z --until 2026-11-21T07:02:10Z"));
  const Finished found = run({"plimsoll", "diagnose", "--data", folder_ / "data", "--json", "--since",
                              "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z"});
  ASSERT_EQ(found.status, 0) << found.err;
  const Json rows = Json::parse(found.out)["rows"];
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0]["service"], "db");
  EXPECT_EQ(rows[0]["replica"], "db-0");
  const Finished none = run({"plimsoll", "trace", "show", "abc", "--data", folder_ / "data"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no such trace"));
  const Finished nothing = run({"plimsoll", "diagnose", "--data", folder_ / "data", "--since",
                                "2026-11-20T07:10:00Z", "--until", "2026-11-20T07:13:00Z"});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("no request in"));
}

// Applications name services and calls.
TEST_F(Diagnose, NamesOfCallsDoNotReachTheTerminalAsTheyAre) {
  std::ofstream(folder_ / "odd.json")
      << R"([{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "id": "00f067aa0ba902b7", "kind": "SERVER",
              "name": "get\u001b[2J", "timestamp": 1763708400000000, "duration": 5000,
              "localEndpoint": {"serviceName": "web\u001b[31m"}}])";
  const std::vector<std::string> show{"plimsoll", "trace",    "show",
                                      "4bf92f35", "--traces", folder_ / "odd.json"};
  const Finished text = run(show);
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("web?[31m get?[2J"), Not(HasSubstr("\x1b"))));
  std::vector<std::string> as_json = show;
  as_json.emplace_back("--json");
  const Finished document = run(as_json);
  ASSERT_EQ(document.status, 0) << document.err;
  EXPECT_THAT(document.out, Not(HasSubstr("\x1b")));
  const Json spans = Json::parse(document.out)["spans"];
  ASSERT_EQ(spans.size(), 1);
  EXPECT_EQ(spans[0]["span"], "00f067aa0ba902b7");
  EXPECT_TRUE(spans[0]["parent"].is_null());
}

// A server says of what it received what a reader of its data directory says.
TEST_F(Diagnose, AsksAServer) {
  const std::string data_dir = folder_ / "served";
  const TestServer server(data_dir);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  http::Client client({.base_url = server.fleet_address()});
  const auto sent = client.send("POST", "/api/v2/spans", slow_shop_zipkin(), "application/json");
  ASSERT_TRUE(sent) << sent.error().text();
  ASSERT_EQ(sent->status, 202) << sent->body;
  const auto asked = [&](const std::vector<std::string>& command, int status) {
    std::vector<Finished> both;
    for (const auto& [flag, source] : {std::pair("--server", server.address()), {"--data", data_dir}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {flag, source});
      both.push_back(run(arguments));
      EXPECT_EQ(both.back().status, status) << flag << both.back().err;
    }
    EXPECT_EQ(both[0].out, both[1].out);
    return both[0];
  };
  std::vector<std::string> words{
      "plimsoll", "diagnose", "--since", "2026-11-21T07:10:00Z", "--until", "2026-11-21T07:13:00Z"};
  EXPECT_THAT(asked(words, 0).out, HasSubstr("slow itself"));
  words.emplace_back("--json");
  const Json rows = Json::parse(asked(words, 0).out)["rows"];
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0]["service"], "db");
  EXPECT_EQ(rows[0]["replica"], "db-0");
  words.insert(words.end(), {"--by", "clouddiag"});
  EXPECT_THAT(asked(words, 0).out, HasSubstr("CloudDiag has no confidence"));
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_THAT(asked({"plimsoll", "trace", "show", id}, 0).out, HasSubstr("    db Query on db-0"));
  EXPECT_EQ(Json::parse(asked({"plimsoll", "trace", "show", id, "--json"}, 0).out)["spans"].size(), 3);
  EXPECT_THAT(asked({"plimsoll", "trace", "show", "abc"}, 1).err, HasSubstr("no such trace"));
  EXPECT_THAT(
      asked({"plimsoll", "diagnose", "--since", "2026-11-20T07:10:00Z", "--until", "2026-11-20T07:13:00Z"}, 1)
          .err,
      HasSubstr("no request in"));
  EXPECT_THAT(asked({"plimsoll", "diagnose", "--since", "2026-11-21T07:10:00Z", "--service", "dd"}, 2).err,
              HasSubstr("did you mean db?"));
}

}  // namespace
}  // namespace plimsoll::testing
