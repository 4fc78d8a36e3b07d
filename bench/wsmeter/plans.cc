#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "bench/harness/statistics.h"
#include "bench/wsmeter/parts.h"
#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::bench {
namespace {

using query::PlannedJob;

constexpr double kGoalPercent = 0.05;
constexpr int64_t kMin = 4;
// Of the way from what the largest plan leaves of the variance to what the smallest does.
constexpr double kAllowedShare = 0.1;

enum class Costs : uint8_t { kQuota, kRandom, kEqual };

struct Case {
  std::string_view name;
  std::string_view what;
  Costs costs;
};

constexpr std::array<Case, 3> kCases{{
    {"quota", "cost = quota, lognormal with a deviation of 2 of its logarithm", Costs::kQuota},
    {"random", "costs of 0.1 to 5.1, the same quotas", Costs::kRandom},
    {"equal", "all jobs alike", Costs::kEqual},
}};

std::vector<PlannedJob> make_jobs(size_t count, Costs costs) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> quotas(0, 2);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<PlannedJob> jobs(count);
  double all = 0;
  for (PlannedJob& job : jobs) {
    const double quota = costs == Costs::kEqual ? 1 : quotas(random);
    const double deviation = costs == Costs::kEqual ? 0.1 : 0.02 + 0.3 * uniform(random);
    const int64_t instances = costs == Costs::kEqual ? 2000 : static_cast<int64_t>(4 + random() % 2000);
    const double share = quota / static_cast<double>(instances);
    job = {.weight = quota,
           .deviation = deviation,
           .instances = instances,
           .cost = costs == Costs::kRandom ? 0.1 + 5 * uniform(random) : share};
    all += quota;
  }
  for (PlannedJob& job : jobs) {
    job.weight /= all;
  }
  return jobs;
}

double variance_with(const std::vector<PlannedJob>& jobs, const auto& count_of) {
  double variance = 0;
  for (const PlannedJob& job : jobs) {
    variance += std::pow(job.weight * job.deviation, 2) / count_of(job);
  }
  return variance;
}

double wanted_deviation(const std::vector<PlannedJob>& jobs) {
  const double least =
      variance_with(jobs, [](const PlannedJob& job) { return static_cast<double>(job.instances); });
  const double most = variance_with(
      jobs, [](const PlannedJob& job) { return static_cast<double>(std::min(kMin, job.instances)); });
  return std::sqrt(least + kAllowedShare * (most - least));
}

// The paper's plan, by bisection in plain words: counts that need not be whole, rounded up. Its cost.
double round_up_plainly(const std::vector<PlannedJob>& jobs, double deviation) {
  const auto count_at = [](const PlannedJob& job, double t) {
    const double wanted = t * job.weight * job.deviation / std::sqrt(job.cost);
    const auto most = static_cast<double>(job.instances);
    return std::clamp(wanted, std::min(static_cast<double>(kMin), most), most);
  };
  double low = 0;
  double high = 1e12;
  while (high - low > 1e-9 * high) {
    const double t = (low + high) / 2;
    const double left = variance_with(jobs, [&](const PlannedJob& job) { return count_at(job, t); });
    (left <= deviation * deviation ? high : low) = t;
  }
  double cost = 0;
  for (const PlannedJob& job : jobs) {
    cost += job.cost * std::ceil(count_at(job, high));
  }
  return cost;
}

double timed_ms(const auto& work) {
  const int64_t start_ns = thread_cpu_ns();
  work();
  return static_cast<double>(thread_cpu_ns() - start_ns) * 1e-6;
}

Status measure_case(const Case& one, size_t count, double goal_ms, int rounds, Report& report) {
  const std::vector<PlannedJob> jobs = make_jobs(count, one.costs);
  const double deviation = wanted_deviation(jobs);
  Result<query::ObservationPlan> plan = fail(ErrorCode::kNotFound, "not planned yet");
  double peer_cost = 0;
  const std::vector<std::function<double()>> contenders{
      [&] {
        return timed_ms(
            [&] { plan = query::plan_observations(jobs, {.deviation = deviation, .min_instances = kMin}); });
      },
      [&] { return timed_ms([&] { peer_cost = round_up_plainly(jobs, deviation); }); }};
  const std::vector<double> medians = interleaved_medians(rounds, contenders);
  if (!plan) {
    return propagate(plan);
  }
  const auto percent_above = [&](double cost) { return 100 * (cost / plan->min_cost - 1); };
  const std::string name = fmt::format("plan-{}-{}", count, one.name);
  report.add({.name = name + "-ms",
              .value = medians[0],
              .unit = "ms",
              .peer = "rounding up",
              .peer_value = medians[1],
              .goal = goal_ms,
              .note = std::string(one.what)});
  report.add({.name = name + "-gap-percent",
              .value = percent_above(plan->cost),
              .unit = "%",
              .peer = "rounding up",
              .peer_value = percent_above(peer_cost),
              .goal = kGoalPercent,
              .note = plan->is_optimal ? "no plan of whole numbers costs less" : ""});
  return {};
}

}  // namespace

Status measure_plans(const Flags& flags, Report& report) {
  for (const Case& one : kCases) {
    if (auto few = measure_case(one, 5000, 10, flags.quick ? 11 : 101, report); !few) {
      return few;
    }
    if (auto many = measure_case(one, 1'000'000, 1000, flags.quick ? 1 : 5, report); !many) {
      return many;
    }
  }
  return {};
}

}  // namespace plimsoll::bench
