// A ClickHouse on loopback, in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/harness/child.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::bench {

// Ended when destroyed. Start it from the main thread: it ends with the thread that started it.
class ClickHouseServer {
 public:
  // Today's engine (chDB) behind HTTP: the script that tests start, too. It answers one statement after the other. Returns when it answers.
  // It makes `folder` for its data. kNotFound, with a hint, where node or chDB is missing.
  static Result<ClickHouseServer> start_chdb(const std::string& folder);

  // Whether start_debian() finds a program. kNotFound, with a hint, otherwise.
  static Status expect_debian();
  // Debian's server, which answers many statements at once. Returns when it answers. Makes `folder` for its data and its configuration.
  static Result<ClickHouseServer> start_debian(const std::string& folder);

  // To one database, which is not made yet.
  store::clickhouse::ConnectionOptions options() const;
  // That database as store.address: "clickhouse://127.0.0.1:8123/plimsoll".
  std::string address() const;

 private:
  ClickHouseServer(Child process, uint16_t port) : process_(std::move(process)), port_(port) {}
  static Result<ClickHouseServer> start(const std::vector<std::string>& argv, const std::string& output,
                                        uint16_t port);

  Child process_;
  uint16_t port_;
};

}  // namespace plimsoll::bench
