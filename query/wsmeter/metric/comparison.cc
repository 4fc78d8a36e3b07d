#include "query/wsmeter/metric/comparison.h"

#include <algorithm>
#include <optional>
#include <set>

#include "query/wsmeter/metric/estimate.h"

namespace plimsoll::query {
namespace {

std::vector<double> performance_of(const InstancesByJob& jobs, const std::string& job) {
  std::vector<double> values;
  if (const auto found = jobs.find(job); found != jobs.end()) {
    for (const InstancePerformance& instance : found->second) {
      values.push_back(instance.performance);
    }
  }
  return values;
}

// Why the instances of an arm cannot be used; empty: they can.
std::string objection(const std::vector<double>& values, size_t least, std::string_view arm) {
  if (values.empty()) {
    return fmt::format("no {} observations", arm);
  }
  if (values.size() < least) {
    return fmt::format("fewer than {} {} observations", least, arm);
  }
  const double lowest = *std::ranges::min_element(values);
  return lowest > 0 ? "" : fmt::format("{} performance is {}, must be above 0", arm, lowest);
}

std::string objection(const ComparedJob& job, MinInstances min_instances) {
  if (job.job.quota == 0) {
    return "no quota";
  }
  if (std::string reason = objection(job.current, min_instances.current, "current"); !reason.empty()) {
    return reason;
  }
  return objection(job.other, min_instances.other, "new");
}

void normalize(ComparedJob& job) {
  job.current_mean = spread_of(job.current).mean;
  job.kurtosis = kurtosis_of(job.current);
  for (auto* values : {&job.current, &job.other}) {
    for (double& value : *values) {
      value /= job.current_mean;
    }
  }
}

void exclude_unknown(const InstancesByJob& current, const InstancesByJob& other,
                     std::span<const JobQuota> quotas, std::vector<ExcludedJob>& excluded) {
  std::set<std::string_view> unknown;
  for (const InstancesByJob* arm : {&current, &other}) {
    for (const auto& [job, instances] : *arm) {
      unknown.insert(job);
    }
  }
  for (const JobQuota& quota : quotas) {
    unknown.erase(quota.job);
  }
  for (const std::string_view job : unknown) {
    excluded.push_back({.job = std::string(job), .quota = 0, .reason = "not in the table of jobs"});
  }
}

std::unexpected<Error> nothing_left(const std::vector<ExcludedJob>& excluded) {
  const auto largest = std::ranges::max_element(excluded, {}, &ExcludedJob::quota);
  return with_hint(fail(ErrorCode::kNotFound, "no comparable job; {}: {}", largest->job, largest->reason),
                   "comparable jobs have a quota and observations on both platforms");
}

}  // namespace

double ComparedJob::cost_of_one(int64_t instances) const {
  return job.cost.value_or(job.quota / static_cast<double>(job.instances.value_or(instances)));
}

Result<Comparison> compare_arms(const InstancesByJob& current, const InstancesByJob& other,
                                std::span<const JobQuota> quotas, MinInstances min_instances) {
  Comparison comparison;
  double all = 0;
  double compared = 0;
  for (const JobQuota& quota : quotas) {
    all += quota.quota;
    ComparedJob job{.job = quota,
                    .current = performance_of(current, quota.job),
                    .other = performance_of(other, quota.job)};
    if (std::string reason = objection(job, min_instances); !reason.empty()) {
      comparison.excluded.push_back({quota.job, quota.quota, std::move(reason)});
      continue;
    }
    normalize(job);
    compared += quota.quota;
    comparison.jobs.push_back(std::move(job));
  }
  exclude_unknown(current, other, quotas, comparison.excluded);
  if (comparison.jobs.empty()) {
    return comparison.excluded.empty() ? fail(ErrorCode::kInvalid, "no jobs")
                                       : nothing_left(comparison.excluded);
  }
  for (ComparedJob& job : comparison.jobs) {
    job.weight = job.job.quota / compared;
  }
  std::ranges::sort(comparison.jobs, {}, [](const ComparedJob& job) {
    return std::pair(-job.weight, std::string_view(job.job.job));
  });
  comparison.coverage = compared / all;
  return comparison;
}

}  // namespace plimsoll::query
