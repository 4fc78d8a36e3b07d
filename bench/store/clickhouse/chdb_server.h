// Today's ClickHouse (chDB) behind HTTP on loopback, in a process of its own: the script that tests start, too.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "bench/harness/child.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::bench {

// Ended when destroyed.
class ChdbServer {
 public:
  // Returns when it answers. It makes `folder` for its data. Start it from the main thread: it ends with the thread that started it. kNotFound,
  // with a hint, where node or chDB is missing.
  static Result<ChdbServer> start(const std::string& folder);

  // To one database, which is not made yet.
  store::clickhouse::ConnectionOptions options() const;

 private:
  ChdbServer(Child process, std::string url) : process_(std::move(process)), url_(std::move(url)) {}

  Child process_;
  std::string url_;
};

}  // namespace plimsoll::bench
