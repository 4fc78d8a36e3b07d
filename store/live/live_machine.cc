#include "store/live/live_machine.h"

#include <cmath>
#include <map>
#include <string_view>

namespace plimsoll::store {
namespace {

constexpr int64_t kHeartbeatsUntilGone = 3;

}  // namespace

bool LiveMachine::is_live(int64_t now_ns) const {
  return now_ns - last_seen_ns < kHeartbeatsUntilGone * heartbeat_ns;
}

std::vector<JobPlacement> placements_of(std::span<const wire::InstanceUsage> instances) {
  std::map<std::string_view, JobPlacement> by_job;
  for (const wire::InstanceUsage& usage : instances) {
    JobPlacement& placement = by_job[usage.job()];
    ++placement.instances;
    placement.unlimited += usage.quota_cpus() > 0 ? 0 : 1;
    placement.quota_cpus += usage.quota_cpus();
  }
  std::vector<JobPlacement> placements;
  for (auto& [job, placement] : by_job) {
    placement.job = job;
    // In whatever order instances are named, their sum is the same.
    placement.quota_cpus = std::round(placement.quota_cpus * 1e6) / 1e6;
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace plimsoll::store
