// What a server and its daemons report to monitoring: /metrics, as Prometheus itself reads it, and `plimsoll status`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "base/durable_file.h"
#include "base/file.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/secured_settings.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Pair;

constexpr std::string_view kProtobuf = "application/x-protobuf";
// Machines stay live without a daemon that reports again.
const std::string kConfig = "[fleet]\nheartbeat = \"10m\"\n";

// Its path; empty: not installed.
std::string installed(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder + "/" + name;
    if (std::filesystem::exists(path)) {
      return path;
    }
  }
  return {};
}

http::Response get(const std::string& address, const std::string& path, const std::string& token = {}) {
  http::Client client({.base_url = address, .credentials = {.token = token}});
  auto response = client.send("GET", path);
  return response ? *std::move(response) : http::error_response(response.error());
}

// A machine with a daemon that reports a problem and a spool.
void report(const TestServer& server, const std::string& id) {
  http::Client client({.base_url = server.fleet_address()});
  wire::RegisterRequest registration;
  registration.set_format_version(wire::kFormatVersion);
  registration.mutable_machine()->set_id(id);
  registration.mutable_machine()->set_boot_id("boot");
  registration.mutable_machine()->set_daemon_version("0.9.9");
  ASSERT_TRUE(client.send("POST", "/fleet/v1/register", registration.SerializeAsString(), kProtobuf)->ok());
  wire::HeartbeatRequest heartbeat;
  heartbeat.set_format_version(wire::kFormatVersion);
  heartbeat.set_machine_id(id);
  heartbeat.set_boot_id("boot");
  heartbeat.mutable_status()->set_problem("no perf events");
  heartbeat.mutable_status()->set_spooled_bytes(4096);
  ASSERT_TRUE(client.send("POST", "/fleet/v1/heartbeat", heartbeat.SerializeAsString(), kProtobuf)->ok());
}

void upload(const TestServer& server, uint64_t seed) {
  const wire::RawProfile profile = make_profile({.seed = seed, .stacks = "main;work 7\n"});
  std::string id;
  for (const char byte : profile.profile_id()) {
    id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  http::Client client({.base_url = server.fleet_address()});
  ASSERT_TRUE(client.send("PUT", "/fleet/v1/profiles/" + id, wire::encode(profile), kProtobuf)->ok());
}

// The first group of each match.
std::set<std::string> matches(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

class Monitoring : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.becomes_ready());
    report(server_, "m1");
    upload(server_, 1);
    upload(server_, 1);
    // The first rows come a second after the start.
    ASSERT_TRUE(eventually(
        [this] { return metrics().find("success_age_seconds{work=\"rows\"}") != std::string::npos; },
        std::chrono::milliseconds(50)));
  }
  std::string metrics() { return get(server_.address(), "/metrics").body; }

  TemporaryFolder folder_;
  TestServer server_{folder_ / "data", kConfig};
};

TEST_F(Monitoring, CountsWhatDaemonsSend) {
  EXPECT_THAT(
      metrics(),
      AllOf(HasSubstr("plimsoll_profiles_received_total{result=\"accepted\"} 1\n"),
            HasSubstr("plimsoll_profiles_received_total{result=\"duplicate\"} 1\n"),
            HasSubstr("plimsoll_samples_received_total 7\n"), HasSubstr("plimsoll_daemons_with_problem 1\n"),
            HasSubstr("plimsoll_daemon_spooled_bytes 4096\n"),
            HasSubstr("plimsoll_http_requests_total{listener=\"daemons\",status=\"2xx\"} 4\n"),
            HasSubstr("plimsoll_background_work_failing{work=\"rows\"} 0\n")));
  ASSERT_EQ(get(server_.address(), "/api/v1/machines").status, 200);
  EXPECT_THAT(metrics(), HasSubstr("plimsoll_question_duration_seconds_count{view=\"machines\"} 1\n"));
  // Measured in the background.
  EXPECT_TRUE(eventually(
      [&] {
        return metrics().find("plimsoll_machines{state=\"live\",version=\"0.9.9\"} 1\n") != std::string::npos;
      },
      std::chrono::milliseconds(200)));
}

TEST_F(Monitoring, PassesTheChecksOfPromtool) {
  const std::string promtool = installed("promtool");
  if (promtool.empty()) {
    GTEST_SKIP() << "promtool is not installed (Debian's package prometheus)";
  }
  const std::string path = folder_ / "metrics";
  ASSERT_TRUE(write_file_durably(path, as_bytes(metrics())));
  const Finished checked = run({"/bin/sh", "-c", promtool + " check metrics < " + path});
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.out + checked.err, "");
  const Finished rules = run({promtool, "check", "rules", source_file("docs/examples/alerts.yml")});
  EXPECT_EQ(rules.status, 0) << rules.out << rules.err;
}

TEST_F(Monitoring, IsDocumented) {
  const std::string docs = *read_file(source_file("docs/monitoring.md"), 1 << 20);
  const auto exposed = matches(metrics(), "# TYPE ([a-z_]+ [a-z]+)");
  std::set<std::string> documented;
  const std::regex row("\\n\\| `([a-z_]+)` \\| ([a-z]+) \\|");
  for (std::sregex_iterator match(docs.begin(), docs.end(), row), end; match != end; ++match) {
    documented.insert((*match)[1].str() + " " + (*match)[2].str());
  }
  EXPECT_EQ(documented, exposed);
  std::set<std::string> names;
  for (const std::string& metric : exposed) {
    names.insert(metric.substr(0, metric.find(' ')));
  }
  names.insert("plimsoll_question_duration_seconds_bucket");
  const std::string alerts = *read_file(source_file("docs/examples/alerts.yml"), 1 << 20);
  EXPECT_THAT(names, IsSupersetOf(matches(alerts, "(plimsoll_[a-z_]+)")));
}

// Prometheus with this server as its one target, on an address of its own.
class Prometheus {
 public:
  Prometheus(const std::string& program, const TestServer& server, const TemporaryFolder& folder)
      : address_(free_address()) {
    const std::string config = folder / "prometheus.yml";
    EXPECT_TRUE(write_file_durably(
        config, as_bytes(fmt::format("global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\n"
                                     "rule_files: [\"{}\"]\n"
                                     "scrape_configs:\n"
                                     "  - job_name: plimsoll\n"
                                     "    static_configs: [{{targets: [\"{}\"]}}]\n",
                                     source_file("docs/examples/alerts.yml"), server.address()))));
    process_.emplace(std::vector<std::string>{program, "--config.file=" + config,
                                              "--storage.tsdb.path=" + (folder / "prometheus"),
                                              "--web.listen-address=" + address_});
  }

  // The values of an instant query.
  std::vector<std::string> ask(const std::string& query) const {
    const http::Response response = get(address_, "/api/v1/query?query=" + http::url_encode(query));
    std::vector<std::string> values;
    if (response.ok()) {
      const nlohmann::json answer = nlohmann::json::parse(response.body);
      for (const auto& series : answer["data"]["result"]) {
        values.push_back(series["value"][1]);
      }
    }
    return values;
  }
  std::string err() const { return process_->err(); }

 private:
  std::string address_;
  std::optional<Background> process_;
};

TEST_F(Monitoring, IsScrapedByPrometheus) {
  const std::string program = installed("prometheus");
  if (program.empty()) {
    GTEST_SKIP() << "prometheus is not installed (Debian's package prometheus)";
  }
  const Prometheus prometheus(program, server_, folder_);
  const std::vector<std::string> one{"1"};
  EXPECT_TRUE(eventually(
      [&] {
        return prometheus.ask("up") == one &&
               prometheus.ask("plimsoll_profiles_received_total{result=\"accepted\"}") == one;
      },
      std::chrono::milliseconds(200)))
      << prometheus.err();
  EXPECT_EQ(prometheus.ask("plimsoll_build_info").size(), 1);
}

TEST(MonitoringOfDaemons, ReachesThemThroughTheServer) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const TemporaryFolder folder;
  TestServer server(folder / "data", "[fleet]\nheartbeat = \"200ms\"\n[collect]\nwindow = \"200ms\"\n");
  ASSERT_TRUE(server.becomes_ready());
  const Background daemon({"plimsolld", "--server", server.fleet_address(), "--machine-id", "m1"});
  EXPECT_TRUE(eventually(
      [&] {
        const std::string metrics = get(server.address(), "/metrics").body;
        return metrics.find("\nplimsoll_daemons_reporting 1\n") != std::string::npos &&
               metrics.find("\nplimsoll_samples_received_total 0\n") == std::string::npos;
      },
      std::chrono::milliseconds(100)))
      << daemon.err();
}

TEST(MonitoringWithAuthentication, RequiresTheRightToRead) {
  const TemporaryFolder folder;
  const SecuredSettings settings;
  TestServer server(folder / "data", settings.config(), settings.ca());
  ASSERT_TRUE(server.becomes_ready());
  const auto status_with = [&](const std::string& token) {
    http::Client client({.base_url = server.address(), .credentials = {.token = token, .ca = settings.ca()}});
    return client.send("GET", "/metrics")->status;
  };
  EXPECT_EQ(status_with(""), 401);
  EXPECT_EQ(status_with(settings.token("upload")), 403);
  EXPECT_EQ(status_with(settings.token("read")), 200);
}

// The row of a subject.
Row subject(const std::vector<Row>& rows, const std::string& name) {
  const auto row =
      std::ranges::find_if(rows, [&](const Row& one) { return text(one.at("subject")) == name; });
  return row == rows.end() ? Row{{"state", query::Value("no row")},
                                 {"value", query::Value("")},
                                 {"detail", query::Value("")}}
                           : *row;
}

TEST_F(Monitoring, StatusShowsTheServerAndItsDaemons) {
  const auto rows = rows_of(view("status", {"--server", server_.address()}));
  EXPECT_THAT(text(subject(rows, "server").at("detail")), HasSubstr(server_.fleet_address()));
  EXPECT_EQ(text(subject(rows, "daemons").at("value")), "1 live, 0 offline");
  EXPECT_EQ(text(subject(rows, "daemon versions").at("value")), "0.9.9: 1");
  EXPECT_EQ(text(subject(rows, "daemons with problems").at("state")), "warning");
  EXPECT_EQ(text(subject(rows, "daemons with problems").at("detail")), "m1: no perf events");
  EXPECT_EQ(text(subject(rows, "stops").at("state")), "ok");
  EXPECT_EQ(text(subject(rows, "background: rows").at("state")), "ok");
  ASSERT_EQ(
      run({"plimsoll", "collection", "--server", server_.address(), "--stop", "latency of search"}).status,
      0);
  const auto stopped = rows_of(view("status", {"--server", server_.address()}));
  EXPECT_EQ(text(subject(stopped, "stop").at("state")), "warning");
  EXPECT_EQ(text(subject(stopped, "stop").at("value")), "everything: nothing is measured");
  EXPECT_THAT(text(subject(stopped, "stop").at("detail")), HasSubstr("latency of search"));
  const auto of_files = rows_of(view("status", {"--data", folder_ / "data"}));
  EXPECT_EQ(text(subject(of_files, "server").at("value")), "not asked");
  EXPECT_EQ(text(subject(of_files, "stop").at("value")), "everything: nothing is measured");
}

TEST_F(Monitoring, StatusHasTablesOfItsParts) {
  const auto work = rows_of(view("status", {"--server", server_.address(), "--by", "work"}));
  EXPECT_THAT(work, Contains(AllOf(Contains(Pair("work", query::Value("rows"))),
                                   Contains(Pair("state", query::Value("ok"))))));
  ASSERT_EQ(get(server_.address(), "/api/v1/machines").status, 200);
  const auto questions = rows_of(view("status", {"--server", server_.address(), "--by", "question"}));
  EXPECT_THAT(questions, Contains(AllOf(Contains(Pair("view", query::Value("machines"))),
                                        Contains(Pair("answers", query::Value(int64_t{1}))))));
}

// The server shows its own limits.
TEST_F(Monitoring, TheStoreIsShownByTheServerAsByItsFiles) {
  ASSERT_TRUE(
      eventually([&] { return stored_in(folder_ / "data").built == 1; }, std::chrono::milliseconds(50)));
  const auto shown = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{"plimsoll", "store", "status", "--csv"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run(argv);
  };
  const Finished of_server = shown({"--server", server_.address()});
  EXPECT_EQ(of_server.status, 0) << of_server.err;
  EXPECT_THAT(of_server.out, HasSubstr("\n000001,open,"));
  EXPECT_THAT(shown({"--data", folder_ / "data"}).out, HasSubstr("\n000001,open,"));
  EXPECT_THAT(shown({"--server", server_.address(), "--by", "limit"}).out,
              HasSubstr("retention.rows_max_bytes,the oldest block is dropped"));
  EXPECT_EQ(shown({"--server", server_.address(), "--config", "server.toml"}).status, 2);
}

// Where segments cannot be written, rows cannot be built.
TEST_F(Monitoring, StatusFailsWithAFailedPiece) {
  const auto ask = [&] { return run({"plimsoll", "status", "--server", server_.address()}); };
  EXPECT_EQ(ask().status, 0);
  ASSERT_TRUE(
      eventually([&] { return stored_in(folder_ / "data").built == 1; }, std::chrono::milliseconds(50)));
  std::filesystem::rename(folder_ / "data/blocks/000001/segments", folder_ / "data/elsewhere");
  upload(server_, 2);
  ASSERT_TRUE(eventually([&] { return ask().status == 1; }, std::chrono::milliseconds(100)));
  const Finished failed = ask();
  EXPECT_THAT(failed.out, HasSubstr("background: rows"));
  EXPECT_THAT(failed.err, HasSubstr("status: 1 row has state failed"));
  EXPECT_THAT(get(server_.address(), "/metrics").body,
              HasSubstr("plimsoll_background_work_failing{work=\"rows\"} 1\n"));
  const http::Response not_ready = get(server_.address(), "/readyz");
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_THAT(not_ready.body, AllOf(HasSubstr("background work rows has been failing since"),
                                    HasSubstr("accepted profiles are kept")));
  std::filesystem::rename(folder_ / "data/elsewhere", folder_ / "data/blocks/000001/segments");
  EXPECT_TRUE(eventually([&] { return ask().status == 0; }, std::chrono::milliseconds(100)));
  EXPECT_EQ(get(server_.address(), "/readyz").body, "ready\n");
}

}  // namespace
}  // namespace plimsoll::testing
