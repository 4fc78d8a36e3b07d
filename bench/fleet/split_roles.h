// The servers that a fleet is run against: one, or one with ingest servers in front of it and its rows in ClickHouse.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/clickhouse/clickhouse_server.h"
#include "bench/fleet/server_under_test.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

// Borrows them.
struct FleetServers {
  const ServerUnderTest* primary = nullptr;      // has the data
  std::span<const ServerUnderTest> ingest = {};  // none: daemons reach the primary directly

  std::vector<uint16_t> fleet_ports() const;
  // Where questions are asked.
  std::string questions_address() const;
  // Of all of them, for messages.
  std::string log_ends() const;
};

// Ended when destroyed.
class SplitRoles {
 public:
  // Starts Debian's ClickHouse, a server with its rows there, and two ingest servers. `settings` are the server's, as in
  // ServerUnderTest::start(), without [server] and [store]. Call it from the main thread. kNotFound where ClickHouse is missing.
  static Result<SplitRoles> start(const std::string& settings);

  // Until this is moved or destroyed.
  FleetServers servers() const { return {&primary_, ingest_}; }
  const ClickHouseServer& clickhouse() const { return clickhouse_; }

 private:
  SplitRoles(ScratchFolder folder, ClickHouseServer clickhouse, ServerUnderTest primary)
      : folder_(std::move(folder)), clickhouse_(std::move(clickhouse)), primary_(std::move(primary)) {}
  Status start_ingest();

  ScratchFolder folder_;  // ClickHouse's
  ClickHouseServer clickhouse_;
  ServerUnderTest primary_;
  std::vector<ServerUnderTest> ingest_;
};

}  // namespace plimsoll::bench
