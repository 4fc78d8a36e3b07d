#include "query/wsmeter/construction/growing_cluster.h"

namespace plimsoll::query {
namespace {

// Sums of weights differ by less than that with the order of the machines, of however many jobs.
constexpr double kRounding = 1e-9;

}  // namespace

void GrowingCluster::add(const MachineLoad& machine) {
  ++machines_;
  quota_ += machine.quota;
  for (const size_t job : machine.jobs) {
    if (++instances_[job] == need_.min_instances) {
      coverage_ += need_.weights[job];
    }
  }
}

bool GrowingCluster::suffices() const {
  return coverage_ >= need_.coverage - kRounding;
}

}  // namespace plimsoll::query
