// Query servers beside a server whose rows are in ClickHouse: they answer as it does, and go on without it.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/secured_settings.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kFromNs = 1'700'000'000'000'000'000;
constexpr int64_t kMinuteNs = int64_t{60} * 1'000'000'000;
constexpr uint64_t kProfiles = 9;

wire::RawProfile profile_of(uint64_t seed) {
  return make_profile({.seed = seed,
                       .machine = fmt::format("m{}", seed % 3),
                       .from_ns = kFromNs + static_cast<int64_t>(seed) * kMinuteNs,
                       .events = {{.name = "cycles"}, {.name = "faults"}},
                       .process = seed % 2 == 0 ? "web" : "db",
                       .job = seed % 2 == 0 ? "shop" : "store",
                       .stacks = fmt::format("main;parse;lex@lex.cc:12 {}\n"
                                             "thread=io labels=request:read main;outer>inner {}\n"
                                             "event=faults main;work_{} {}\n",
                                             1 + seed % 7, 2 + seed % 5, seed % 4, 1 + seed % 3)});
}

// `plimsoll server --role query`, in a folder that stays when it ends.
class QueryServer {
 public:
  QueryServer(std::string data_dir, std::string config_path, std::string scheme = {})
      : data_dir_(std::move(data_dir)), config_path_(std::move(config_path)), scheme_(std::move(scheme)) {
    start();
  }
  ~QueryServer() { stop(); }
  QueryServer(const QueryServer&) = delete;
  QueryServer& operator=(const QueryServer&) = delete;

  void start() {
    process_ = std::make_unique<Background>(std::vector<std::string>{"plimsoll", "server", "--role", "query",
                                                                     "--data", data_dir_, "--config",
                                                                     config_path_, "--listen", address_});
  }
  void stop() {
    if (process_ != nullptr) {
      process_->kill(SIGTERM);
      const Finished ended = process_->wait();
      EXPECT_EQ(ended.status, 0) << ended.err;
      process_.reset();
    }
  }

  std::string address() const { return scheme_ + address_; }
  std::string err() const { return process_->err(); }
  // The status of /readyz, and what it says.
  std::pair<unsigned, std::string> readiness(const std::string& ca = {}) const {
    http::Client client({.base_url = address(), .credentials = {.ca = ca}});
    const auto answer = client.send("GET", "/readyz");
    return answer ? std::pair(answer->status, answer->body) : std::pair(0U, answer.error().text());
  }
  bool becomes_ready(const std::string& ca = {}) const {
    const bool is_ready = eventually([&] { return readiness(ca).first == 200; });
    EXPECT_TRUE(is_ready) << readiness(ca).second << "\n" << err();
    return is_ready;
  }

 private:
  const std::string data_dir_;
  const std::string config_path_;
  const std::string scheme_;
  const std::string address_ = free_address();
  std::unique_ptr<Background> process_;
};

class QueryRole : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = ClickHouseServer::why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    clickhouse_ = std::make_unique<ClickHouseServer>();
    const store::clickhouse::ConnectionOptions database = clickhouse_->new_database();
    const std::string url = database.base_url.substr(std::string("http://").size());
    password_file_ = folder_ / "password";
    const Finished written = run({"/bin/sh", "-c", "umask 077; printf '%s\\n' \"$1\" > \"$2\"", "sh",
                                  database.password, password_file_});
    ASSERT_EQ(written.status, 0) << written.err;
    store_ = fmt::format("[store]\naddress = \"clickhouse://{}@{}/{}\"\npassword_file = \"{}\"\n",
                         database.user, url, database.database, password_file_);
  }

  // Of a query server: the address of ClickHouse comes from the primary server, the password does not.
  std::string query_config(const TestServer& primary, const std::string& further = {}) {
    const std::string path = folder_ / "query.toml";
    std::ofstream(path) << fmt::format(
        "{}[primary]\nserver = \"{}\"\ninterval = \"1s\"\n{}[store]\npassword_file = \"{}\"\n", head_,
        primary.address(), further, password_file_);
    return path;
  }

  static void fill(const TestServer& server) {
    http::Client client({.base_url = server.fleet_address()});
    for (uint64_t machine = 0; machine < 4; ++machine) {
      wire::RegisterRequest registration;
      registration.set_format_version(wire::kFormatVersion);
      registration.mutable_machine()->set_id(fmt::format("m{}", machine));
      registration.mutable_machine()->set_boot_id("b1");
      registration.mutable_machine()->set_cores(4);
      const auto registered = client.send("POST", "/fleet/v1/register", registration.SerializeAsString(),
                                          "application/x-protobuf");
      ASSERT_TRUE(registered && registered->status == 200);
    }
    double hits = 0;
    for (uint64_t seed = 1; seed <= kProfiles; ++seed) {
      const wire::RawProfile profile = profile_of(seed);
      ASSERT_TRUE(eventually([&] {
        const auto response =
            client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
        return response && response->status == 200;
      }));
      hits += static_cast<double>(1 + seed % 7 + 2 + seed % 5);
    }
    ASSERT_TRUE(eventually([&] {
      double sum = 0;
      for (const auto& [machine, self] :
           self_so_far({"--server", server.address(), "--by", "machine", "--event", "cycles"})) {
        sum += self;
      }
      return sum == hits;
    })) << "not all rows are there";
  }

  static Finished ask(const std::string& address, const std::vector<std::string>& question) {
    std::vector<std::string> command{"plimsoll"};
    command.insert(command.end(), question.begin(), question.end());
    command.insert(command.end(), {"--server", address, "--csv"});
    return run(command);
  }

  static std::vector<std::vector<std::string>> questions() {
    return {{"top", "--by", "function", "--event", "cycles"},
            {"top", "--by", "job,thread,label:request", "--event", "cycles"},
            {"top", "--by", "machine", "--event", "faults", "--since", "2023-11-14T22:19:20Z"},
            {"flame", "--event", "cycles"},
            {"callers", "lex", "--event", "cycles"},
            {"series", "--by", "job", "--event", "cycles", "--every", "1m"},
            {"diff", "--by", "function", "--event", "cycles", "--where", "job=shop", "--baseline-where",
             "job=store"},
            {"callees", "main", "--event", "cycles"},
            {"top", "--by", "file,line", "--event", "cycles", "--where", "job=shop"},
            {"collection"}};
  }

  TemporaryFolder folder_;
  std::unique_ptr<ClickHouseServer> clickhouse_;
  std::string password_file_;
  std::string store_;
  std::string head_;  // of the query server's configuration
};

TEST_F(QueryRole, AnswersAreThoseOfThePrimaryWhetherItIsThereOrNot) {
  TestServer primary(folder_ / "primary", store_);
  ASSERT_TRUE(primary.becomes_ready());
  ASSERT_NO_FATAL_FAILURE(fill(primary));
  QueryServer query(folder_ / "query", query_config(primary));
  ASSERT_TRUE(query.becomes_ready());

  std::vector<std::string> expected;
  for (const std::vector<std::string>& question : questions()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(question, " ")));
    const Finished told = ask(primary.address(), question);
    const Finished answered = ask(query.address(), question);
    EXPECT_EQ(told.status, answered.status) << answered.err;
    EXPECT_EQ(answered.out, told.out);
    expected.push_back(told.out);
  }
  // What only the primary server knows comes from there.
  EXPECT_THAT(ask(query.address(), {"machines"}).out, HasSubstr("m3")) << "it has sent no profile";
  http::Client client({.base_url = query.address()});
  for (const char* const view : {"/api/v1/store", "/api/v1/status", "/api/v1/bursts"}) {
    const auto forwarded = client.send("GET", view);
    ASSERT_TRUE(forwarded) << forwarded.error().text();
    EXPECT_EQ(forwarded->status, 200U) << forwarded->body;
  }

  EXPECT_EQ(primary.crash().status, 128 + SIGKILL);
  const auto expect_answers = [&] {
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(fmt::format("{}", fmt::join(questions()[i], " ")));
      const Finished answered = ask(query.address(), questions()[i]);
      EXPECT_EQ(answered.out, expected[i]) << answered.err;
    }
  };
  expect_answers();
  EXPECT_EQ(query.readiness().first, 200U);
  const auto gone = client.send("GET", "/api/v1/status");
  ASSERT_TRUE(gone) << gone.error().text();
  EXPECT_EQ(gone->status, 503U);
  EXPECT_THAT(gone->body, HasSubstr("asking the primary server"));

  // With what the process before has left.
  query.stop();
  query.start();
  ASSERT_TRUE(query.becomes_ready());
  expect_answers();
}

// One that lacked some would count a part of the rows.
TEST_F(QueryRole, ShardsOfTheRowsComeFromThePrimary) {
  const store::clickhouse::ConnectionOptions second = clickhouse_->new_database();
  const std::string url = second.base_url.substr(std::string("http://").size());
  TestServer primary(folder_ / "primary", fmt::format("{}shards = [\"clickhouse://{}@{}/{}\"]\n", store_,
                                                      second.user, url, second.database));
  ASSERT_TRUE(primary.becomes_ready()) << primary.process().err();
  ASSERT_NO_FATAL_FAILURE(fill(primary));
  QueryServer query(folder_ / "query", query_config(primary));
  ASSERT_TRUE(query.becomes_ready()) << query.err();
  for (const std::vector<std::string>& question : questions()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(question, " ")));
    const Finished expected = ask(primary.address(), question);
    const Finished answered = ask(query.address(), question);
    EXPECT_EQ(expected.status, answered.status) << answered.err;
    EXPECT_EQ(answered.out, expected.out);
  }
}

TEST_F(QueryRole, IsReadyOnceThereIsACopyAndWhileClickHouseAnswers) {
  TestServer primary(folder_ / "primary", store_);
  ASSERT_TRUE(primary.becomes_ready());
  primary.stop();
  QueryServer query(folder_ / "query", query_config(primary));
  ASSERT_TRUE(eventually([&] { return query.readiness().first == 503; })) << query.err();
  EXPECT_THAT(query.readiness().second, HasSubstr("no copy of the primary server's machines and draws"));
  const Finished early = ask(query.address(), {"machines"});
  EXPECT_EQ(early.status, 1);
  EXPECT_THAT(early.err, HasSubstr("primary.server"));

  primary.start();
  ASSERT_TRUE(query.becomes_ready());
  clickhouse_->kill();
  EXPECT_TRUE(eventually([&] {
    const auto [status, said] = query.readiness();
    return status == 503 && said.find("rows") != std::string::npos;
  }));
  clickhouse_->start();
  EXPECT_TRUE(query.becomes_ready());
}

TEST_F(QueryRole, OrdersAreForwardedWithTheCallersOwnRights) {
  const SecuredSettings settings;
  TestServer primary(folder_ / "primary", settings.config() + store_, settings.ca());
  ASSERT_TRUE(primary.becomes_ready());
  head_ = settings.config();
  QueryServer query(folder_ / "query",
                    query_config(primary, fmt::format("token_file = \"{}\"\nserver_ca = \"{}\"\n",
                                                      settings.token_file("replica"), settings.ca())),
                    "https://");
  ASSERT_TRUE(query.becomes_ready(settings.ca()));
  const auto ordered = [&](const std::string& role, std::vector<std::string> command) {
    command.insert(command.begin(), "plimsoll");
    command.insert(command.end(), {"--server", query.address(), "--server-ca", settings.ca()});
    if (!role.empty()) {
      command.insert(command.end(), {"--token-file", settings.token_file(role)});
    }
    return run(command);
  };
  EXPECT_EQ(ordered("read", {"machines"}).status, 0);
  EXPECT_THAT(ordered("", {"machines"}).err, HasSubstr("authentication is required"));
  EXPECT_THAT(ordered("", {"status"}).err, HasSubstr("authentication is required"));
  EXPECT_THAT(ordered("read", {"collection", "--stop", "mischief"}).err,
              HasSubstr("(role read) may not POST"));
  const Finished stopped = ordered("admin", {"collection", "--stop", "too hot"});
  EXPECT_EQ(stopped.status, 0) << stopped.err;
  // The primary server has done it, and copies follow.
  std::vector<std::string> at_primary{"plimsoll", "collection", "--server", primary.address()};
  const std::vector<std::string> flags = settings.flags("read");
  at_primary.insert(at_primary.end(), flags.begin(), flags.end());
  EXPECT_THAT(run(at_primary).out, HasSubstr("too hot"));
  EXPECT_TRUE(
      eventually([&] { return ordered("read", {"collection"}).out.find("too hot") != std::string::npos; }));
  // Each has an audit log of its own.
  EXPECT_THAT(ordered("admin", {"audit"}).out, HasSubstr("/api/v1/collection/stop"));

  const auto status_of = [&](const std::string& address, const std::string& role, const std::string& path) {
    http::Client client(
        {.base_url = address, .credentials = {.token = settings.token(role), .ca = settings.ca()}});
    const auto answer = client.send("GET", path);
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status_of(primary.address(), "replica", "/api/v1/directory"), 200U);
  EXPECT_EQ(status_of(primary.address(), "read", "/api/v1/directory"), 403U);
  EXPECT_EQ(status_of(primary.address(), "replica", "/api/v1/machines"), 403U);
  EXPECT_EQ(status_of(query.address(), "admin", "/api/v1/directory"), 404U)
      << "there are no copies of copies";
}

TEST_F(QueryRole, AFolderOrAServerThatCannotBeFollowedIsRefused) {
  TestServer primary(folder_ / "primary", store_);
  ASSERT_TRUE(primary.becomes_ready());
  const std::string config = query_config(primary);
  const Finished own = run({"plimsoll", "server", "--role", "query", "--data", folder_ / "primary",
                            "--config", config, "--listen", free_address()});
  EXPECT_NE(own.status, 0);
  EXPECT_THAT(own.err, HasSubstr("is the data directory of a server"));

  TestServer local(folder_ / "local");
  ASSERT_TRUE(local.becomes_ready());
  QueryServer query(folder_ / "query", query_config(local));
  EXPECT_TRUE(eventually([&] {
    return query.err().find("plimsoll store copy --to clickhouse://") != std::string::npos;
  })) << query.err();
  EXPECT_EQ(query.readiness().first, 503U);
}

}  // namespace
}  // namespace plimsoll::testing
