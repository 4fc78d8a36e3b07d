#include "bench/clickhouse/clickhouse_server.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "http/address.h"
#include "http/client.h"

namespace plimsoll::bench {
namespace {

constexpr const char* kDatabase = "plimsoll";
constexpr const char* kDebianProgram = "/usr/sbin/clickhouse-server";
constexpr int kMaxPings = 300;
constexpr std::chrono::milliseconds kPingPause{100};
constexpr size_t kMaxShownBytes = 1000;
// Merging all rows takes minutes on a slow machine.
constexpr int64_t kMaxStatementMs = 1'800'000;

// Of any address: it listens on loopback.
constexpr std::string_view kUsers = R"(<yandex>
<profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<quotas><default></default></quotas>
<users><default><password></password><networks><ip>::/0</ip></networks>
<profile>default</profile><quota>default</quota></default></users>
</yandex>
)";

Status expect_chdb(const std::string& packages) {
  constexpr const char* kHint = "scripts/install.sh --peers installs Node.js, and chDB with npm";
  std::error_code error;
  if (!std::filesystem::exists(packages + "/node_modules/chdb", error)) {
    return with_hint(fail(ErrorCode::kNotFound, "chDB is missing: no {}/node_modules/chdb", packages), kHint);
  }
  const auto node = run_to_end({"node", "--version"});
  return node ? Status()
              : with_hint(fail(ErrorCode::kNotFound, "Node.js is missing: {}", node.error().message), kHint);
}

// Free now; the server fails to start where another program takes it before.
Result<uint16_t> free_port() {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  return socket ? Result<uint16_t>(socket->port) : propagate(socket);
}

Status write_debian_configuration(const std::string& folder, uint16_t port) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream users(folder + "/users.xml");
  users << kUsers;
  std::ofstream config(folder + "/config.xml");
  config << fmt::format(
      "<yandex><logger><level>error</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>\n"
      "<http_port>{1}</http_port><listen_host>127.0.0.1</listen_host>\n"
      "<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><users_config>{0}/users.xml</users_config>\n"
      "<default_profile>default</default_profile><default_database>default</default_database>\n"
      "<mark_cache_size>67108864</mark_cache_size>\n"
      "<uncompressed_cache_size>67108864</uncompressed_cache_size>\n"
      "<timezone>UTC</timezone></yandex>\n",
      folder, port);
  users.close();
  config.close();
  return users && config
             ? Status()
             : fail(ErrorCode::kIo, "writing the configuration of clickhouse-server to {}", folder);
}

}  // namespace

Result<ClickHouseServer> ClickHouseServer::start_chdb(const std::string& folder) {
  const std::string packages = sibling_program("../bench-packages");
  const Status installed = expect_chdb(packages);
  const auto port = installed ? free_port() : propagate(installed);
  if (!port) {
    return propagate(port);
  }
  return start({"node", PLIMSOLL_CHDB_SERVER, packages, folder, fmt::format("{}", *port)}, folder + ".log",
               *port);
}

Status ClickHouseServer::expect_debian() {
  return ::access(kDebianProgram, X_OK) == 0
             ? Status()
             : with_hint(fail(ErrorCode::kNotFound, "clickhouse-server is missing: no {}", kDebianProgram),
                         "scripts/install.sh --scale installs it");
}

Result<ClickHouseServer> ClickHouseServer::start_debian(const std::string& folder) {
  const Status installed = expect_debian();
  const auto port = installed ? free_port() : propagate(installed);
  const Status configured = port ? write_debian_configuration(folder, *port) : propagate(port);
  if (!configured) {
    return propagate(configured);
  }
  return start({kDebianProgram, "--config-file=" + folder + "/config.xml"}, folder + ".log", *port);
}

Result<ClickHouseServer> ClickHouseServer::start(const std::vector<std::string>& argv,
                                                 const std::string& output, uint16_t port) {
  auto process = Child::start(argv, output);
  if (!process) {
    return propagate(process);
  }
  ClickHouseServer server(std::move(*process), port);
  http::Client client({.base_url = server.options().base_url});
  for (int ping = 0; ping < kMaxPings; ++ping) {
    const auto answer = client.send("GET", "/ping");
    if (answer && answer->status == 200) {
      return server;
    }
    std::this_thread::sleep_for(kPingPause);
  }
  return fail(ErrorCode::kUnavailable, "starting {}: no answer on port {} after {} pings: {}", argv.front(),
              port, kMaxPings, read_beginning(output, kMaxShownBytes).value_or(std::string("no output")));
}

store::clickhouse::ConnectionOptions ClickHouseServer::options() const {
  return {.base_url = fmt::format("http://127.0.0.1:{}", port_),
          .database = kDatabase,
          .timeout_ms = kMaxStatementMs};
}

std::string ClickHouseServer::address() const {
  return fmt::format("clickhouse://127.0.0.1:{}/{}", port_, kDatabase);
}

}  // namespace plimsoll::bench
