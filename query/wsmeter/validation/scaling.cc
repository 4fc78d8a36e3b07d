#include "query/wsmeter/validation/scaling.h"

#include <algorithm>
#include <numeric>

#include "query/wsmeter/metric/estimate.h"

namespace plimsoll::query {

double true_metric(std::span<const ComparedJob> jobs) {
  double metric = 0;
  for (const ComparedJob& job : jobs) {
    metric += job.weight * spread_of(job.other).mean;
  }
  return metric;
}

double scale_share(std::span<ComparedJob> jobs, double scale, double share, Random& random) {
  const double before = true_metric(jobs);
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  random.draw(std::span(order), order.size());
  double left = share;
  for (const size_t place : order) {
    ComparedJob& job = jobs[place];
    const double part = std::clamp(left / job.weight, 0.0, 1.0);
    left -= job.weight * part;
    for (double& value : job.other) {
      value *= 1 + (scale - 1) * part;
    }
  }
  return true_metric(jobs) / before - 1;
}

}  // namespace plimsoll::query
