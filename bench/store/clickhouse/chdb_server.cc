#include "bench/store/clickhouse/chdb_server.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "http/address.h"
#include "http/client.h"

namespace plimsoll::bench {
namespace {

constexpr const char* kHint = "scripts/install.sh --peers installs Node.js, and chDB with npm";
constexpr int kMaxPings = 300;
constexpr std::chrono::milliseconds kPingPause{100};
constexpr size_t kMaxShownBytes = 1000;
// Merging all rows takes minutes on a slow machine.
constexpr int64_t kMaxStatementMs = 1'800'000;

Status expect_installed(const std::string& packages) {
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

}  // namespace

Result<ChdbServer> ChdbServer::start(const std::string& folder) {
  const std::string packages = sibling_program("../bench-packages");
  const Status installed = expect_installed(packages);
  const auto port = installed ? free_port() : propagate(installed);
  if (!port) {
    return propagate(port);
  }
  const std::string output = folder + ".log";
  auto process =
      Child::start({"node", PLIMSOLL_CHDB_SERVER, packages, folder, fmt::format("{}", *port)}, output);
  if (!process) {
    return propagate(process);
  }
  ChdbServer server(std::move(*process), fmt::format("http://127.0.0.1:{}", *port));
  http::Client client({.base_url = server.url_});
  for (int ping = 0; ping < kMaxPings; ++ping) {
    const auto answer = client.send("GET", "/ping");
    if (answer && answer->status == 200) {
      return server;
    }
    std::this_thread::sleep_for(kPingPause);
  }
  return with_hint(
      fail(ErrorCode::kUnavailable, "starting chDB: no answer from {} after {} pings: {}", server.url_,
           kMaxPings, read_beginning(output, kMaxShownBytes).value_or(std::string("no output"))),
      kHint);
}

store::clickhouse::ConnectionOptions ChdbServer::options() const {
  return {.base_url = url_, .database = "plimsoll", .timeout_ms = kMaxStatementMs};
}

}  // namespace plimsoll::bench
