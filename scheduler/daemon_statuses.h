// The newest status of each live daemon, as heartbeats bring it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "proto/fleet.pb.h"

namespace plimsoll::scheduler {

// Over all live daemons.
struct DaemonTotals {
  int64_t reporting = 0;  // live daemons whose status is known
  int64_t with_problem = 0;
  std::string problem = {};  // of one of these: "MACHINE: TEXT"
  int64_t slowed_down = 0;   // collect fewer samples than asked for
  int64_t profiles_queued = 0;
  int64_t spooled_bytes = 0;
  double max_cpu_of_limit = 0;  // the highest CPU share as a fraction of its daemon's limit
  double cpus = 0;              // that they took over the last minute, together
  double cpus_limit = 0;        // that their limits permit, together
  // Whether assignments can have the machine record bursts, as it says; those that say nothing of it are older than bursts.
  int64_t can_record_bursts = 0;
  int64_t cannot_record_bursts = 0;
  int64_t bursts_not_reported = 0;
  std::string why_no_bursts = {};  // of one that cannot: "MACHINE: TEXT"
  int64_t recordings_queued = 0;   // in spools
  // By all daemons since this object was made, monotonic.
  int64_t profiles_refused = 0;  // by the server, for good
  struct Dropped {
    int64_t no_room = 0;
    int64_t too_old = 0;
    int64_t damaged = 0;
    int64_t disk = 0;
    int64_t missing = 0;
  } profiles_dropped;
};

// Any thread. One entry for each machine: the caller notes registered machines only. A machine that is offline counts no more; the counts
// that it reported last stay for `machine_ttl_ns`, so that what it drops while it is offline is counted once it is back.
class DaemonStatuses {
 public:
  explicit DaemonStatuses(int64_t machine_ttl_ns) : machine_ttl_ns_(machine_ttl_ns) {}

  // `status` comes from outside: texts are cut and made printable, numbers are bounded. `heartbeat_ns`: how often the machine reports.
  void note(const std::string& machine_id, const wire::DaemonStatus& status, int64_t now_ns,
            int64_t heartbeat_ns);

  DaemonTotals totals(int64_t now_ns);

 private:
  struct Entry {
    int64_t seen_ns = 0;
    int64_t offline_ns = 0;  // from then on, without another heartbeat
    std::string problem;
    bool is_slowed_down = false;
    int64_t profiles_queued = 0;
    int64_t spooled_bytes = 0;
    double cpu_of_limit = 0;
    double cpus = 0;
    double cpus_limit = 0;
    bool reports_bursts = false;
    bool can_record_bursts = false;
    std::shared_ptr<const std::string> why_no_bursts = {};  // null: it can, or does not say
    int64_t recordings_queued = 0;
    // Since when the daemon's spool counts, and its counts.
    int64_t counts_since_ns = 0;
    int64_t refused = 0;
    DaemonTotals::Dropped dropped = {};
  };
  void count(const Entry& before, Entry& now);
  void forget(int64_t now_ns);
  std::shared_ptr<const std::string> shared_reason(std::string text);

  const int64_t machine_ttl_ns_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by machine ID; protected by mutex_
  int64_t next_forgetting_ns_ = 0;        // likewise
  int64_t refused_ = 0;                   // likewise
  DaemonTotals::Dropped dropped_;         // likewise
  // The newest why_no_bursts, likewise: in a fleet that does not permit bursts all have the same one.
  std::shared_ptr<const std::string> newest_reason_;
};

}  // namespace plimsoll::scheduler
