// Who is let in, and what to: real servers, daemons and command lines over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/hex.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/secured_settings.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Access : public ::testing::Test {
 protected:
  Finished plimsoll(std::vector<std::string> arguments, const std::string& role) const {
    arguments.insert(arguments.begin(), "plimsoll");
    const auto add = [&](const std::vector<std::string>& further) {
      arguments.insert(arguments.end(), further.begin(), further.end());
    };
    add({"--server", server_.address()});
    add(role.empty() ? std::vector<std::string>{"--server-ca", settings_.ca()} : settings_.flags(role));
    return run(arguments);
  }
  // "admin GET /api/v1/audit 200", counted.
  std::map<std::string, double> audit() const {
    const Finished asked = plimsoll({"audit", "--json", "--limit", "1000"}, "admin");
    EXPECT_EQ(asked.status, 0) << asked.err;
    std::map<std::string, double> lines;
    const auto table = query::from_json(asked.out);
    for (const Row& row : rows_of(table.value_or(query::Table()))) {
      lines[text(row.at("who")) + " " + text(row.at("request")) + " " + text(row.at("status"))] +=
          number(row.at("count"));
    }
    return lines;
  }
  std::unique_ptr<Background> daemon(const std::string& id) const {
    const std::string config = folder_ / (id + ".toml");
    std::ofstream(config) << "[daemon]\nserver = \"" << server_.fleet_address() << "\"\nserver_ca = \""
                          << settings_.ca() << "\"\nenrolment_file = \"" << settings_.token_file("enrol")
                          << "\"\nstate_dir = \"" << folder_ / (id + "-state") << "\"\n[machine]\nid = \""
                          << id << "\"\n";
    return std::make_unique<Background>(
        std::vector<std::string>{"plimsolld", "--config", config, "--state-dir", folder_ / (id + "-state")});
  }
  // The machine that this certificate names.
  http::Client machine(const std::string& id) {
    const IssuedCertificate shown = settings_.machines().issue(id, kForClients);
    return http::Client(
        {.base_url = server_.fleet_address(),
         .credentials = {.ca = settings_.ca(), .certificate = shown.certificate, .key = shown.key}});
  }

  TemporaryFolder folder_;
  SecuredSettings settings_;
  std::string data_dir_ = folder_ / "data";
  TestServer server_{data_dir_,
                     settings_.config() +
                         "[fleet]\nheartbeat = \"200ms\"\n[collect]\nwindow = \"200ms\"\n"
                         "[limits]\nmax_profile_bytes = \"64KiB\"\n",
                     settings_.ca()};
};

TEST_F(Access, PeopleAskAndOrderByTheirTokens) {
  ASSERT_TRUE(server_.becomes_ready());
  EXPECT_EQ(plimsoll({"machines"}, "read").status, 0);
  const Finished stranger = plimsoll({"machines"}, "");
  EXPECT_EQ(stranger.status, 1);
  EXPECT_THAT(stranger.err, AllOf(HasSubstr("authentication is required"), HasSubstr("PLIMSOLL_TOKEN")));
  const Finished reader = plimsoll({"collection", "--stop", "mischief"}, "read");
  EXPECT_EQ(reader.status, 1);
  EXPECT_THAT(reader.err, HasSubstr("test-read (role read) may not POST /api/v1/collection/stop"));
  EXPECT_EQ(plimsoll({"audit"}, "read").status, 1);
  EXPECT_EQ(plimsoll({"collection", "--stop", "latency of search"}, "admin").status, 0);

  const auto log = audit();
  EXPECT_EQ(log.at("test-read GET /api/v1/machines 200"), 1);
  EXPECT_EQ(log.at("unauthenticated GET /api/v1/machines 401"), 1);
  EXPECT_EQ(log.at("test-read POST /api/v1/collection/stop?reason=mischief 403"), 1);
  EXPECT_EQ(log.at("test-admin POST /api/v1/collection/stop?reason=latency%20of%20search 200"), 1);
  const Finished callers = plimsoll({"audit", "--by", "caller", "--csv"}, "admin");
  EXPECT_THAT(callers.out,
              AllOf(HasSubstr("who,first_time,last_time,count,refused\r\ntest-admin,"),
                    ContainsRegex("\ntest-read,.*,3,2\r\n"), ContainsRegex("\nunauthenticated,.*,1,1\r\n")));
  EXPECT_EQ(server_.stop().status, 0);
  EXPECT_THAT(run({"plimsoll", "audit", "--data", data_dir_}).out, HasSubstr("latency%20of%20search"));
}

TEST_F(Access, ExperimentsAreDefinedByAdministratorsAndReadByAll) {
  ASSERT_TRUE(server_.becomes_ready());
  const std::vector<std::string> define{"experiment", "define",      "pages",  "--feature",  "huge pages",
                                        "--control",  "revision=41", "--test", "revision=42"};
  const Finished reader = plimsoll(define, "read");
  EXPECT_EQ(reader.status, 1);
  EXPECT_THAT(reader.err, HasSubstr("test-read (role read) may not PUT"));
  EXPECT_EQ(plimsoll(define, "").status, 1);
  const Finished defined = plimsoll(define, "admin");
  EXPECT_EQ(defined.status, 0) << defined.err;
  EXPECT_THAT(plimsoll({"experiment", "list", "--csv"}, "read").out,
              HasSubstr("pages,planned,huge pages,test-admin,"));
  EXPECT_EQ(plimsoll({"experiment", "withdraw", "pages"}, "read").status, 1);
  EXPECT_EQ(plimsoll({"experiment", "withdraw", "pages"}, "admin").status, 0);

  const auto log = audit();
  EXPECT_EQ(log.at("test-read PUT /api/v1/experiments/pages 403"), 1);
  EXPECT_EQ(log.at("test-admin PUT /api/v1/experiments/pages 200"), 1);
  EXPECT_EQ(log.at("test-admin DELETE /api/v1/experiments/pages 200"), 1);
}

TEST_F(Access, CompilerProfilesAreForARoleOfTheirOwn) {
  ASSERT_TRUE(server_.becomes_ready());
  const auto status_of = [this](const std::string& role, const std::string& path) {
    http::Client client(
        {.base_url = server_.address(),
         .credentials = {.token = role.empty() ? "" : settings_.token(role), .ca = settings_.ca()}});
    const auto answer = client.send("GET", path);
    return answer ? answer->status : 0;
  };
  const std::string profile = "/api/v1/fdo/autofdo?build_id=abcd";
  EXPECT_EQ(status_of("fdo", profile), 404) << "permitted, but there are no samples";
  EXPECT_EQ(status_of("admin", profile), 404);
  EXPECT_EQ(status_of("read", profile), 403);
  EXPECT_EQ(status_of("upload", profile), 403);
  EXPECT_EQ(status_of("", profile), 401);
  EXPECT_EQ(status_of("fdo", "/api/v1/machines"), 403);
  EXPECT_EQ(status_of("fdo", "/api/v1/fdo-counts?build_id=abcd"), 403);
}

TEST_F(Access, AnnotatedCodeRequiresTheRightToRead) {
  ASSERT_TRUE(server_.becomes_ready());
  const auto status_of = [this](const std::string& role) {
    http::Client client(
        {.base_url = server_.address(),
         .credentials = {.token = role.empty() ? "" : settings_.token(role), .ca = settings_.ca()}});
    const auto answer = client.send("GET", "/api/v1/annotate?function=main");
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status_of("read"), 404) << "permitted, but there are no samples";
  EXPECT_EQ(status_of("admin"), 404);
  for (const char* role : {"fdo", "upload", "enrol"}) {
    EXPECT_EQ(status_of(role), 403) << role;
  }
  EXPECT_EQ(status_of(""), 401);
}

TEST_F(Access, RequestTracesRequireTheRightToRead) {
  ASSERT_TRUE(server_.becomes_ready());
  const auto status_of = [this](const std::string& role, const std::string& path) {
    http::Client client(
        {.base_url = server_.address(),
         .credentials = {.token = role.empty() ? "" : settings_.token(role), .ca = settings_.ca()}});
    const auto answer = client.send("GET", path);
    return answer ? answer->status : 0;
  };
  for (const auto& [path, status] : {std::pair("/api/v1/diagnosis", 404U),
                                     {"/api/v1/regressions", 404U},
                                     {"/api/v1/trace?id=1", 404U},
                                     {"/api/v1/findings", 200U}}) {
    EXPECT_EQ(status_of("read", path), status) << path << ": permitted, but there are no spans";
    EXPECT_EQ(status_of("upload", path), 403) << path;
    EXPECT_EQ(status_of("fdo", path), 403) << path;
    EXPECT_EQ(status_of("", path), 401) << path;
  }
}

TEST_F(Access, BinariesAreAddedByARoleOfTheirOwn) {
  ASSERT_TRUE(server_.becomes_ready());
  const auto status_of = [this](const std::string& role, const std::string& method, const std::string& path) {
    http::Client client(
        {.base_url = server_.address(),
         .credentials = {.token = role.empty() ? "" : settings_.token(role), .ca = settings_.ca()}});
    const auto answer = client.send(method, path, method == "PUT" ? "no ELF file" : "",
                                    method == "PUT" ? "application/octet-stream" : "");
    return answer ? answer->status : 0;
  };
  const std::string upload = "/api/v1/binaries/";
  EXPECT_EQ(status_of("binaries", "PUT", upload), 400) << "permitted, but it is no ELF file";
  EXPECT_EQ(status_of("admin", "PUT", upload), 400);
  for (const char* role : {"read", "upload", "enrol", "fdo"}) {
    EXPECT_EQ(status_of(role, "PUT", upload), 403) << role;
  }
  EXPECT_EQ(status_of("", "PUT", upload), 401);
  EXPECT_EQ(status_of("binaries", "GET", upload), 200) << "where an upload goes on";
  EXPECT_EQ(status_of("read", "GET", upload), 403);
  const std::string file = "/buildid/00112233445566778899/debuginfo";
  EXPECT_EQ(status_of("read", "GET", file), 404) << "permitted, but there is none";
  EXPECT_EQ(status_of("admin", "GET", file), 404);
  EXPECT_EQ(status_of("binaries", "GET", file), 403);
  EXPECT_EQ(status_of("upload", "GET", file), 403);
  EXPECT_EQ(status_of("", "GET", file), 401);
  EXPECT_EQ(status_of("binaries", "GET", "/api/v1/binaries"), 403);
}

TEST_F(Access, BurstsAreUploadedAndReadByDifferentRoles) {
  ASSERT_TRUE(server_.becomes_ready());
  const std::string path = "/api/v1/bursts/recordings/" + std::string(32, 'a');
  const auto status_of = [&](const std::string& role, const std::string& method) {
    http::Client client(
        {.base_url = server_.address(),
         .credentials = {.token = role.empty() ? "" : settings_.token(role), .ca = settings_.ca()}});
    const auto answer = client.send(method, path, method == "PUT" ? "no recording" : "",
                                    method == "PUT" ? "application/octet-stream" : "");
    return answer ? answer->status : 0;
  };
  for (const char* role : {"upload", "admin"}) {
    EXPECT_EQ(status_of(role, "PUT"), 400) << role << " is permitted, but it is no recording";
  }
  for (const char* role : {"read", "enrol", "fdo", "binaries"}) {
    EXPECT_EQ(status_of(role, "PUT"), 403) << role;
  }
  EXPECT_EQ(status_of("", "PUT"), 401);
  for (const char* role : {"read", "admin"}) {
    EXPECT_EQ(status_of(role, "GET"), 404) << role << " is permitted, but there is none";
  }
  EXPECT_EQ(status_of("upload", "GET"), 403);
  EXPECT_EQ(status_of("", "GET"), 401);
}

TEST_F(Access, SymbolizerWorkersHaveARoleOfTheirOwn) {
  ASSERT_TRUE(server_.becomes_ready());
  const auto status_of = [this](const std::string& role, const std::string& method, const std::string& path) {
    http::Client client(
        {.base_url = server_.address(),
         .credentials = {.token = role.empty() ? "" : settings_.token(role), .ca = settings_.ca()}});
    const auto answer = client.send(method, path, "", method == "POST" ? "application/x-protobuf" : "");
    return answer ? answer->status : 0;
  };
  const std::string lease = "/api/v1/symbolizer/lease";
  EXPECT_EQ(status_of("symbolizer", "POST", lease), 400) << "permitted, but the worker has no name";
  for (const char* role : {"read", "admin", "upload", "enrol", "fdo", "binaries"}) {
    EXPECT_EQ(status_of(role, "POST", lease), 403) << role;
  }
  EXPECT_EQ(status_of("", "POST", lease), 401);
  for (const std::string path :
       {"/api/v1/top", "/api/v1/binaries", "/buildid/00112233445566778899/debuginfo", "/metrics"}) {
    EXPECT_EQ(status_of("symbolizer", "GET", path), 403) << path;
  }
}

TEST_F(Access, TokensAreReadAgainAtSighup) {
  ASSERT_TRUE(server_.becomes_ready());
  EXPECT_EQ(plimsoll({"machines"}, "read").status, 0);
  std::string without_read = settings_.config();
  const size_t entry = without_read.find("[[access.tokens]]\nname = \"test-read\"");
  ASSERT_NE(entry, std::string::npos) << without_read;
  without_read.erase(entry, without_read.find("[[access.tokens]]", entry + 1) - entry);
  server_.reload(without_read);
  EXPECT_TRUE(eventually([&] { return plimsoll({"machines"}, "read").status == 1; }))
      << server_.process().err();
  EXPECT_EQ(plimsoll({"machines"}, "admin").status, 0);
  server_.reload("this is no configuration");
  EXPECT_TRUE(eventually([&] {
    return server_.process().err().find("reloading: reading the configuration") != std::string::npos;
  })) << server_.process().err();
  EXPECT_EQ(plimsoll({"machines"}, "admin").status, 0);
  server_.reload(settings_.config());
  EXPECT_TRUE(eventually([&] { return plimsoll({"machines"}, "read").status == 0; }));
}

TEST_F(Access, WhoeverNamesWhoSignedTheServersCertificateMeansTls) {
  ASSERT_TRUE(server_.becomes_ready());
  const std::string address = server_.address().substr(std::string("https://").size());
  const auto ask = [&](const std::string& server) {
    std::vector<std::string> arguments{"plimsoll", "machines", "--server", server};
    std::ranges::copy(settings_.flags("read"), std::back_inserter(arguments));
    return run(arguments);
  };
  const Finished without_scheme = ask(address);
  EXPECT_EQ(without_scheme.status, 0) << without_scheme.err;
  const Finished plain = ask("http://" + address);
  EXPECT_NE(plain.status, 0);
  EXPECT_THAT(plain.err, HasSubstr("write https://"));

  const std::string config = folder_ / "plain.toml";
  std::ofstream(config) << "[daemon]\nserver = \"http://" << address << "\"\nserver_ca = \"" << settings_.ca()
                        << "\"\n[machine]\nid = \"m1\"\n";
  Background plain_daemon({"plimsolld", "--config", config, "--state-dir", folder_ / "plain-state"});
  EXPECT_TRUE(eventually([&] { return plain_daemon.err().find("write https://") != std::string::npos; }))
      << plain_daemon.err();
}

TEST_F(Access, DaemonsEnrolAndAreKnownFromThenOn) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  ASSERT_TRUE(server_.becomes_ready());
  const auto first = daemon("m1");
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted > 0; })) << first->err();
  const int64_t before = stored_in(data_dir_).accepted;
  server_.crash();
  server_.start();
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted > before; })) << first->err();

  // Another machine that says it is m1.
  const std::string state = folder_ / "thief-state";
  const auto thief = std::make_unique<Background>(
      std::vector<std::string>{"plimsolld", "--config", folder_ / "m1.toml", "--state-dir", state});
  ASSERT_TRUE(eventually([&] {
    return thief->err().find("is enrolled already, with another token") != std::string::npos;
  })) << thief->err();
  const Finished revoked = plimsoll({"machines", "--revoke", "m1"}, "admin");
  EXPECT_EQ(revoked.status, 0);
  EXPECT_THAT(revoked.out + revoked.err, HasSubstr("machine m1 is revoked"));
  ASSERT_TRUE(eventually([&] { return first->err().find("machine m1 is revoked") != std::string::npos; }))
      << first->err();
  EXPECT_EQ(plimsoll({"machines", "--readmit", "m1"}, "admin").status, 0);
  const int64_t then = stored_in(data_dir_).accepted;
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted > then; }))
      << first->err() << thief->err();
  EXPECT_GE(audit().at("test-enrol enrol machine m1 200"), 1) << "that of before the crash may be lost";
}

TEST_F(Access, AMachineActsAsItselfAloneAndWhatIsRefusedIsCounted) {
  ASSERT_TRUE(server_.becomes_ready());
  http::Client m1 = machine("m1");
  const auto put = [&](const wire::RawProfile& profile) {
    const auto answer =
        m1.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
    return answer ? answer->status : 0;
  };
  const auto post = [&](const std::string& path, const google::protobuf::Message& message) {
    const auto answer = m1.send("POST", path, message.SerializeAsString());
    return answer ? answer->status : 0;
  };
  wire::RegisterRequest registration;
  registration.set_format_version(wire::kFormatVersion);
  registration.mutable_machine()->set_id("m1");
  registration.mutable_machine()->set_boot_id("boot");
  wire::HeartbeatRequest heartbeat;
  heartbeat.set_format_version(wire::kFormatVersion);
  heartbeat.set_machine_id("m1");
  heartbeat.set_boot_id("boot");
  EXPECT_EQ(post("/fleet/v1/register", registration), 200);
  EXPECT_EQ(post("/fleet/v1/heartbeat", heartbeat), 200);

  wire::RawProfile own = make_profile({.seed = 1, .machine = "m1"});
  EXPECT_EQ(put(own), 200);
  EXPECT_EQ(put(own), 200) << "once more, as after a lost answer";
  own.mutable_machine()->set_cores(own.machine().cores() + 1);
  EXPECT_EQ(put(own), 409) << "another profile under its name";
  // In the name of others.
  EXPECT_EQ(put(make_profile({.seed = 2, .machine = "m2"})), 403);
  registration.mutable_machine()->set_id("m2");
  heartbeat.set_machine_id("m2");
  EXPECT_EQ(post("/fleet/v1/register", registration), 403);
  EXPECT_EQ(post("/fleet/v1/heartbeat", heartbeat), 403);
  // What is no message, or too much of one.
  EXPECT_EQ(m1.send("POST", "/fleet/v1/heartbeat", "\xff garbage")->status, 400);
  const std::string id(32, '7');
  EXPECT_EQ(m1.send("PUT", "/fleet/v1/profiles/" + id, std::string(1 << 20, 'x'))->status, 413);
  http::Client nobody({.base_url = server_.fleet_address(), .credentials = {.ca = settings_.ca()}});
  EXPECT_EQ(nobody.send("POST", "/fleet/v1/heartbeat", "")->status, 401);

  const auto log = audit();
  EXPECT_EQ(log.at("machine m1 PUT /fleet/v1/profiles/ 409"), 1);
  EXPECT_EQ(log.at("machine m1 PUT /fleet/v1/profiles/ 403"), 1);
  EXPECT_EQ(log.at("machine m1 PUT /fleet/v1/profiles/ 413"), 1);
  EXPECT_EQ(log.at("machine m1 POST /fleet/v1/register 403"), 1);
  EXPECT_EQ(log.at("machine m1 POST /fleet/v1/heartbeat 403"), 1);
  EXPECT_EQ(log.at("machine m1 POST /fleet/v1/heartbeat 400"), 1);
  EXPECT_EQ(log.at("unauthenticated POST /fleet/v1/heartbeat 401"), 1);
  EXPECT_EQ(stored_in(data_dir_).accepted, 1);
}

TEST_F(Access, ARelayHandsInProfilesOfAnyMachine) {
  ASSERT_TRUE(server_.becomes_ready());
  http::Client relay({.base_url = server_.fleet_address(),
                      .credentials = {.token = settings_.token("upload"), .ca = settings_.ca()}});
  for (const uint32_t seed : {1, 2}) {
    const wire::RawProfile profile = make_profile({.seed = seed, .machine = fmt::format("m{}", seed)});
    const auto answer =
        relay.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
  }
  EXPECT_EQ(relay.send("POST", "/fleet/v1/heartbeat", "")->status, 403);
}

TEST(Beyond, LoopbackNobodyIsLetInUnasked) {
  const TemporaryFolder folder;
  const Finished refused = run({"plimsoll", "server", "--data", folder / "data", "--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("access.tokens"), HasSubstr("access.allow_unauthenticated")));
}

}  // namespace
}  // namespace plimsoll::testing
