// How fast each instance of each job ran, by platform.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/wsmeter/observed/observation.h"

namespace plimsoll::query {

// One instance of a job on a platform.
struct InstancePerformance {
  double performance = 0;    // higher is better; the mean of all its rows
  std::string machine = {};  // empty: not said
  std::string rack = {};
};

using InstancesByJob = std::map<std::string, std::vector<InstancePerformance>, std::less<>>;

struct PerformanceTable {
  std::map<std::string, InstancesByJob, std::less<>> platforms;
  bool has_machines = false;
  bool has_racks = false;
};

// A CSV text, gzipped or not, with the columns platform, job, instance, performance (or ipc), and perhaps machine and rack; others are passed
// over. Rows of the same instance (on the same machine) are repetitions over time: their mean is taken, since instances are what is sampled.
// kInvalid, with the line, for performance that is no finite number. Zero and negative ones are read: who uses them decides. Takes about 1 us a
// row.
Result<PerformanceTable> read_performance(std::string_view content);
// The same of what a store or server has observed.
PerformanceTable performance_of(const Observations& observations);

// The jobs of a platform; without a name, of the only one there is. kNotFound, or kInvalid where there are several to choose from, naming those.
Result<const InstancesByJob*> platform_of(const PerformanceTable& table, std::string_view platform);

}  // namespace plimsoll::query
