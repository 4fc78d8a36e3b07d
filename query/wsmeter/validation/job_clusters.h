// Test clusters made job by job: of each job so many instances, drawn at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/metric/estimate.h"
#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {

// One thread.
class JobClusters {
 public:
  // Borrows the jobs; of each, `observe` instances of its new arm, at most all.
  JobClusters(std::span<const ComparedJob> jobs, std::span<const int64_t> observe);

  // What a test cluster says, from its own instances alone. Takes as long as it has instances: some 20 ns each.
  MetricEstimate draw(Random& random);
  // What it says on average: the deviations are those of all instances.
  MetricEstimate expected() const;
  // Of every cluster: the costs of its instances.
  double cost() const;

 private:
  std::span<const ComparedJob> jobs_;
  std::span<const int64_t> observe_;
  std::vector<std::vector<double>> instances_;  // by job, in whatever order the last draw left them
};

}  // namespace plimsoll::query
