#include "scheduler/daemon_statuses.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/printable.h"

namespace plimsoll::scheduler {
namespace {

// As store::LiveMachine::is_live() has it.
constexpr int64_t kHeartbeatsUntilOffline = 3;

constexpr size_t kMaxProblemBytes = 512;

// A million machines of so many still fit into 63 bits.
constexpr uint64_t kMaxCount = uint64_t{1} << 42;

int64_t bounded(uint64_t count) {
  return static_cast<int64_t>(std::min(count, kMaxCount));
}

double cpu_of_limit(const wire::DaemonStatus& status) {
  const double fraction = status.cpu_share() / status.cpu_share_limit();
  // Without a limit, or from a daemon that reports nonsense.
  return std::isfinite(fraction) && fraction >= 0 ? fraction : 0;
}

// A daemon has a few threads: more CPUs are nonsense.
double bounded_cpus(double cpus) {
  constexpr double kMaxCpus = 64;
  return std::isfinite(cpus) ? std::clamp(cpus, 0.0, kMaxCpus) : 0;
}

DaemonTotals::Dropped dropped_of(const wire::ProfileCounts& counts) {
  return {.no_room = bounded(counts.dropped_no_room()),
          .too_old = bounded(counts.dropped_too_old()),
          .damaged = bounded(counts.dropped_damaged()),
          .disk = bounded(counts.dropped_disk()),
          .missing = bounded(counts.dropped_missing())};
}

// All that were spooled and have no other fate; 0 of a daemon that reports nonsense.
int64_t queued_of(const wire::ProfileCounts& counts) {
  uint64_t queued = std::min(counts.spooled(), kMaxCount);
  for (const uint64_t settled :
       {counts.delivered(), counts.refused(), counts.dropped_no_room(), counts.dropped_too_old(),
        counts.dropped_damaged(), counts.dropped_disk(), counts.dropped_missing()}) {
    queued -= std::min(queued, settled);
  }
  return bounded(queued);
}

constexpr int64_t DaemonTotals::Dropped::* kReasons[] = {
    &DaemonTotals::Dropped::no_room, &DaemonTotals::Dropped::too_old, &DaemonTotals::Dropped::damaged,
    &DaemonTotals::Dropped::disk, &DaemonTotals::Dropped::missing};

}  // namespace

void DaemonStatuses::note(const std::string& machine_id, const wire::DaemonStatus& status, int64_t now_ns,
                          int64_t heartbeat_ns) {
  Entry now{.seen_ns = now_ns,
            .offline_ns = now_ns + kHeartbeatsUntilOffline * heartbeat_ns,
            .problem = printable(std::string_view(status.problem()).substr(0, kMaxProblemBytes)),
            .is_slowed_down = status.slowdown() > 1,
            .profiles_queued = bounded(status.profiles_queued()),
            .spooled_bytes = bounded(status.spooled_bytes()),
            .cpu_of_limit = cpu_of_limit(status),
            .cpus = bounded_cpus(status.cpu_share()),
            .cpus_limit = bounded_cpus(status.cpu_share_limit()),
            .reports_bursts = status.has_bursts(),
            .can_record_bursts = status.bursts().can_record(),
            .recordings_queued = queued_of(status.recording_counts()),
            .counts_since_ns = status.profile_counts().since_ns(),
            .refused = bounded(status.profile_counts().refused()),
            .dropped = dropped_of(status.profile_counts())};
  std::string why_not = printable(std::string_view(status.bursts().why_not()).substr(0, kMaxProblemBytes));
  const std::lock_guard lock(mutex_);
  if (now.reports_bursts && !now.can_record_bursts) {
    now.why_no_bursts = shared_reason(std::move(why_not));
  }
  if (now_ns >= next_forgetting_ns_) {
    // Once per heartbeat interval, so that each heartbeat pays for one entry on average.
    forget(now_ns);
    next_forgetting_ns_ = now_ns + heartbeat_ns;
  }
  const auto [entry, is_first] = entries_.try_emplace(machine_id);
  if (!is_first) {
    count(entry->second, now);
  }
  entry->second = std::move(now);
}

// The first status of a daemon is where counting begins: what it dropped before may have been counted by the server before this one.
void DaemonStatuses::count(const Entry& before, Entry& now) {
  // Another spool starts from 0. Of the same one, an older report that comes late adds nothing, and the newer one must not be counted
  // again after it.
  const bool is_same_spool = before.counts_since_ns == now.counts_since_ns;
  const auto add = [is_same_spool](int64_t old_count, int64_t& new_count, int64_t& total) {
    const int64_t from = is_same_spool ? old_count : 0;
    new_count = std::max(new_count, from);
    total += new_count - from;
  };
  add(before.refused, now.refused, refused_);
  for (const auto reason : kReasons) {
    add(before.dropped.*reason, now.dropped.*reason, dropped_.*reason);
  }
}

std::shared_ptr<const std::string> DaemonStatuses::shared_reason(std::string text) {
  if (newest_reason_ == nullptr || *newest_reason_ != text) {
    newest_reason_ = std::make_shared<const std::string>(std::move(text));
  }
  return newest_reason_;
}

void DaemonStatuses::forget(int64_t now_ns) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    Entry& status = entry->second;
    if (now_ns >= status.offline_ns) {
      std::string().swap(status.problem);
      status.why_no_bursts.reset();
    }
    entry = now_ns - status.seen_ns > machine_ttl_ns_ ? entries_.erase(entry) : std::next(entry);
  }
}

DaemonTotals DaemonStatuses::totals(int64_t now_ns) {
  DaemonTotals totals;
  const std::lock_guard lock(mutex_);
  forget(now_ns);
  for (const auto& [machine, status] : entries_) {
    if (now_ns >= status.offline_ns) {
      continue;
    }
    ++totals.reporting;
    if (!status.problem.empty()) {
      totals.problem = totals.with_problem == 0 ? printable(machine) + ": " + status.problem : totals.problem;
      ++totals.with_problem;
    }
    totals.slowed_down += status.is_slowed_down ? 1 : 0;
    totals.profiles_queued += status.profiles_queued;
    totals.spooled_bytes += status.spooled_bytes;
    totals.max_cpu_of_limit = std::max(totals.max_cpu_of_limit, status.cpu_of_limit);
    totals.cpus += status.cpus;
    totals.cpus_limit += status.cpus_limit;
    totals.recordings_queued += status.recordings_queued;
    if (!status.reports_bursts) {
      ++totals.bursts_not_reported;
    } else if (status.can_record_bursts) {
      ++totals.can_record_bursts;
    } else {
      // None of one that was offline by a clock that was set back since.
      if (totals.why_no_bursts.empty() && status.why_no_bursts != nullptr) {
        totals.why_no_bursts = printable(machine) + ": " + *status.why_no_bursts;
      }
      ++totals.cannot_record_bursts;
    }
  }
  totals.profiles_refused = refused_;
  totals.profiles_dropped = dropped_;
  return totals;
}

}  // namespace plimsoll::scheduler
