#include "query/wsmeter/construction/growing_cluster.h"

namespace plimsoll::query {
namespace {

// Sums of weights differ by that with their order.
constexpr double kRounding = 1e-12;

}  // namespace

void GrowingCluster::add(const MachineLoad& machine) {
  ++machines_;
  quota_ += machine.quota;
  for (const size_t job : machine.jobs) {
    if (++instances_[job] == need_.least) {
      coverage_ += need_.weights[job];
    }
  }
}

bool GrowingCluster::suffices() const {
  return coverage_ >= need_.coverage - kRounding;
}

}  // namespace plimsoll::query
