#include "query/wsmeter/experiment/arm.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace plimsoll::query {
namespace {

// Job, instance, machine.
using Place = std::tuple<std::string, std::string, std::string>;

class ArmBuilder {
 public:
  void add(const Observation& seen) {
    auto& instances = arm_.instances[seen.job];
    auto& loads = arm_.loads[seen.job];
    const auto [known, is_new] =
        places_.try_emplace(Place{seen.job, seen.instance, seen.machine}, instances.size());
    if (is_new) {
      instances.push_back({.performance = seen.performance, .machine = seen.machine, .rack = seen.rack});
      loads.push_back(seen.load);
      arm_.names[seen.job].push_back(seen.instance + " on " + seen.machine);
      return;
    }
    double& sum = loads[known->second];
    double& mean = instances[known->second].performance;
    sum += seen.load;
    mean += sum > 0 ? (seen.performance - mean) * seen.load / sum : 0;
  }

  Arm take() { return std::move(arm_); }

 private:
  Arm arm_;
  std::map<Place, size_t> places_;
};

}  // namespace

Arm arm_of(const Observations& observations) {
  ArmBuilder builder;
  for (const Observation& seen : observations.seen) {
    builder.add(seen);
  }
  Arm arm = builder.take();
  arm.from_ns = observations.coverage.from_ns;
  arm.to_ns = observations.coverage.to_ns;
  arm.notes = observations.notes;
  return arm;
}

size_t instances_of(const Arm& arm) {
  size_t count = 0;
  for (const auto& [job, instances] : arm.instances) {
    count += instances.size();
  }
  return count;
}

double load_of(const Arm& arm) {
  double load = 0;
  for (const auto& [job, loads] : arm.loads) {
    load += std::accumulate(loads.begin(), loads.end(), 0.0);
  }
  return load;
}

size_t instances_of_both(const Arm& control, const Arm& test) {
  size_t count = 0;
  for (const auto& [job, names] : control.names) {
    const auto other = test.names.find(job);
    if (other != test.names.end()) {
      const std::set<std::string> known(names.begin(), names.end());
      count += static_cast<size_t>(std::ranges::count_if(
          other->second, [&](const std::string& name) { return known.contains(name); }));
    }
  }
  return count;
}

}  // namespace plimsoll::query
