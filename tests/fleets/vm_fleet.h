// Fleets made from the measurements of corpus/vm_noise: jobs on virtual machines that differ as real ones do.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/fleets/fleet.h"

namespace plimsoll::fleets {

struct MeasuredJob {
  std::string name;
  double quota_cores = 0;
  std::map<std::string, std::vector<double>> performance;  // by platform, of each instance; higher is better
};

// Jobs from the largest quota to the smallest; those without measurements are left out.
Result<std::vector<MeasuredJob>> read_vm_noise(const std::string& folder);

// Machines of the two platforms, each a stratum, with two jobs each, as likely as their quotas. A machine does a job's work at
// the performance of an instance measured there, drawn at random for each: less performance is more cycles for the same instructions.
Fleet vm_fleet(const std::vector<MeasuredJob>& jobs, double fraction, size_t machines, Random& random);

}  // namespace plimsoll::fleets
