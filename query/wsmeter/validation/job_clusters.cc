#include "query/wsmeter/validation/job_clusters.h"

namespace plimsoll::query {

JobClusters::JobClusters(std::span<const ComparedJob> jobs, std::span<const int64_t> observe)
    : jobs_(jobs), observe_(observe) {
  for (const ComparedJob& job : jobs) {
    instances_.push_back(job.other);
  }
}

MetricEstimate JobClusters::draw(Random& random) {
  MetricSum sum;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const std::span instances(instances_[i]);
    const auto count = static_cast<size_t>(observe_[i]);
    random.draw(instances, count);
    const Spread sample = spread_of(instances.first(count));
    sum.add_value(jobs_[i].weight * sample.mean);
    sum.add_variance(
        part_of_sample(jobs_[i].weight, sample, static_cast<int64_t>(instances.size()), jobs_[i].kurtosis));
  }
  return sum.estimate();
}

MetricEstimate JobClusters::expected() const {
  MetricSum sum;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Spread spread = spread_of(jobs_[i].other);
    const int64_t population = spread.count;
    spread.count = observe_[i];
    sum.add_value(jobs_[i].weight * spread.mean);
    sum.add_variance(part_of_sample(jobs_[i].weight, spread, population, jobs_[i].kurtosis));
  }
  return sum.estimate();
}

double JobClusters::cost() const {
  double cost = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const auto population = static_cast<int64_t>(jobs_[i].other.size());
    cost += jobs_[i].cost_of_one(population) * static_cast<double>(observe_[i]);
  }
  return cost;
}

}  // namespace plimsoll::query
