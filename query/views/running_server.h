// What a running server knows of itself, and its files do not say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/store_health.h"

namespace plimsoll::query {

// Times are wall clock of the server.
struct BackgroundWorkHealth {
  std::string name = {};          // "rows", "symbols", ...
  int64_t newest_success_ns = 0;  // end of the newest pass without an error; 0: none yet
  int64_t running_since_ns = 0;   // 0: it waits for work
  int64_t errors = 0;             // since the server's start
  std::string error = {};         // of the newest pass; empty: it succeeded
};

struct RunningServer {
  std::string version = {};
  std::string address = {};        // for people
  std::string fleet_address = {};  // for daemons
  int64_t started_ns = 0;
  std::vector<BackgroundWorkHealth> work = {};
  // Of live daemons, by their newest heartbeats.
  int64_t daemons_with_problem = 0;
  std::string problem = {};  // of one of these, with its machine
  int64_t daemons_slowed_down = 0;
  int64_t profiles_queued = 0;
  int64_t spooled_bytes = 0;
  // Some seconds old. Nothing: it could not be measured (store_error).
  std::optional<store::StoreHealth> store = {};
  std::string store_error = {};
};

}  // namespace plimsoll::query
