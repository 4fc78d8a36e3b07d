#include "query/wsmeter/baseline/machine_model.h"

#include <map>

namespace plimsoll::query {

std::vector<MachineSums> machines_of(std::span<const ComparedJob> jobs, const InstancesByJob& instances) {
  std::map<std::string, MachineSums> machines;
  for (const ComparedJob& job : jobs) {
    const auto found = instances.find(job.job.job);
    if (found == instances.end()) {
      continue;
    }
    const double quota = job.job.quota / static_cast<double>(found->second.size());
    for (const InstancePerformance& instance : found->second) {
      if (!instance.machine.empty()) {
        MachineSums& machine = machines[instance.machine];
        machine.quota += quota;
        machine.performance += quota * instance.performance / job.current_mean;
        machine.cost += job.cost_of_one(static_cast<int64_t>(found->second.size()));
        ++machine.instances;
      }
    }
  }
  std::vector<MachineSums> sums;
  for (const auto& [name, machine] : machines) {
    sums.push_back(machine);
  }
  return sums;
}

}  // namespace plimsoll::query
