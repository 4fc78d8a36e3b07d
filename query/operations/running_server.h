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

// How long answers of one view took since the server's start, waiting for a thread not included.
struct ViewAnswers {
  std::string view = {};
  int64_t answers = 0;
  int64_t sum_ns = 0;
  int64_t p95_max_ns = 0;  // 19 of 20 took no longer; 0: longer than the server distinguishes
  int64_t over_1s = 0;
  int64_t over_10s = 0;
};

// Uploads of profiles since the server's start, by how they ended, and what those accepted have.
struct ReceivedUploads {
  int64_t accepted = 0;
  int64_t duplicate = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  int64_t samples = 0;
  int64_t lost_samples = 0;  // taken, and not handed over by the kernel
};

// A symbolizer worker that asked lately. Counts are since the server's start.
struct SymbolizerWorkerHealth {
  std::string name = {};  // and its token
  int64_t leases = 0;     // builds that it works on now
  int64_t tables = 0;     // taken from it
  int64_t failures = 0;   // builds of which it could make no table
  int64_t refused = 0;    // tables that were damaged, or not of the build
  int64_t expired = 0;    // leases that it neither renewed nor ended
  int64_t newest_request_ns = 0;
  std::string newest_failure = {};  // with its build ID
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
  double daemon_cpus = 0;        // that daemons took over the last minute, together
  double daemon_cpus_limit = 0;  // that their own limits permit, together
  // Of all daemons over the last hour, where machines are drawn: CPUs that each took on average (nothing: not known yet), and the
  // share of the fleet's CPU time that they may take (0: machines are not drawn).
  std::optional<double> cpus_of_daemon = {};
  double max_overhead_share = 0;
  // Of live daemons: whether assignments can have their machines record bursts, as they say.
  int64_t can_record_bursts = 0;
  int64_t cannot_record_bursts = 0;
  int64_t bursts_not_reported = 0;
  std::string why_no_bursts = {};  // of one that cannot, with its machine
  ReceivedUploads received = {};
  std::vector<ViewAnswers> answers = {};  // by view
  std::vector<SymbolizerWorkerHealth> symbolizers = {};
  // Some seconds old. Nothing: it could not be measured (store_error).
  std::optional<store::StoreHealth> store = {};
  std::string store_error = {};
};

}  // namespace plimsoll::query
