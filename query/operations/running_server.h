// What a running server knows of itself, and its files do not say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "store/store_health.h"

namespace plimsoll::query {

// How one kind of background work is doing. Times are wall clock of the server; 0: never, or not now.
struct BackgroundWorkHealth {
  std::string name = {};          // "rows", "symbols", ...
  int64_t newest_success_ns = 0;  // end of the newest pass without an error
  int64_t running_since_ns = 0;   // start of the running pass
  int64_t failing_since_ns =
      0;  // end of the first pass of those that failed in a row; 0: the newest one succeeded
  int64_t failures_in_row = 0;
  int64_t errors = 0;           // since the server's start
  int64_t last_error_ns = 0;    // end of the newest pass that failed
  std::string last_error = {};  // its error, also after a success
  // What holds for this kind of work:
  int64_t tolerance_ns = 0;         // how long passes may fail before the server is not ready
  int64_t max_pass_ns = INT64_MAX;  // a pass that runs for longer is stuck
  std::string hint = {};            // what its failures lead to, and what to do

  bool is_failing() const { return failing_since_ns != 0; }
  // A pass that takes this long is worth a look.
  bool is_long(int64_t now_ns) const {
    return running_since_ns != 0 && now_ns - running_since_ns > kNsPerHour;
  }
  bool is_stuck(int64_t now_ns) const {
    return running_since_ns != 0 && now_ns - running_since_ns > max_pass_ns;
  }
};

// Times are wall clock of the server.
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
