#include "tests/fleets/simulated_weeks.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll::fleets {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr double kShared = 0.15;

// From -1 at 3 o'clock to 1 at 15.
double by_hour(int hour) {
  return std::sin(2 * std::numbers::pi * (hour - 9) / 24);
}

std::vector<double> shocks(int hours, double deviation, std::mt19937_64& random) {
  constexpr double kNext = 0.7;
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double value = deviation * normal(random);
  for (int hour = 0; hour < hours; ++hour) {
    values.push_back(value);
    value = kNext * value + deviation * std::sqrt(1 - kNext * kNext) * normal(random);
  }
  return values;
}

struct SimulatedArm {
  bool is_test = false;
  double log_effect = 0;
  std::vector<double> hours = {};      // log latencies of hours, without users
  std::vector<double> use_until = {};  // sums of requests by hour
};

// Requests of the arm at that time, relative to the mean.
double use_at(const WeekSpec& spec, const SimulatedArm& arm, int hour) {
  const double usual = 1 + 0.7 * by_hour(hour % 24);
  if (!spec.is_rolled_out || !arm.is_test) {
    return usual;
  }
  const double grown = 0.1 + 0.9 * hour / (spec.days * 24.0);
  return usual * grown * (1 - 0.4 * by_hour(hour % 24));
}

void add_user(const WeekSpec& spec, const SimulatedArm& arm, uint32_t user, std::mt19937_64& random,
              std::vector<statistics::ArmValue>& values) {
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::geometric_distribution<int> more_requests(1 / 3.0);
  constexpr double kRequestsPerVisit = 3;
  const double activity = std::min(std::pow(1 - uniform(random), -1 / 1.5), 100.0);
  // Who uses more has more data, and is slower.
  const double level = spec.user_deviation * normal(random) + 0.15 * std::log(activity);
  const double slow_place = spec.is_rolled_out ? (arm.is_test ? 0.6 : 0.2) : 0.3;
  const uint32_t place = uniform(random) < slow_place ? 1 : 0;
  const double visits = spec.requests_per_day / kRequestsPerVisit * activity * arm.use_until.back() / 24;
  for (int left = std::poisson_distribution<int>(visits)(random); left > 0; --left) {
    const auto at = std::ranges::lower_bound(arm.use_until, uniform(random) * arm.use_until.back());
    const auto hour = static_cast<size_t>(at - arm.use_until.begin());
    for (int requests = 1 + more_requests(random); requests > 0; --requests) {
      const double slow = uniform(random) < 0.03 ? exponential(random) : 0;
      const double log_ms =
          3 + level + arm.hours[hour] + arm.log_effect + (place == 1 ? 0.4 : 0) + 0.6 * normal(random) + slow;
      values.push_back({.time_ns = static_cast<int64_t>(hour) * kHourNs,
                        .place = place,
                        .user = user,
                        .value = std::exp(log_ms)});
    }
  }
}

}  // namespace

SimulatedWeek simulate_week(const WeekSpec& spec, uint64_t seed) {
  std::mt19937_64 random(seed);
  const int hours = spec.days * 24;
  const std::vector<double> shared = shocks(hours, kShared, random);
  SimulatedWeek week;
  for (const bool is_test : {false, true}) {
    SimulatedArm arm{.is_test = is_test, .log_effect = is_test ? std::log(spec.effect) : 0};
    arm.hours = shocks(hours, spec.own_hours, random);
    for (int hour = 0; hour < hours; ++hour) {
      arm.hours[static_cast<size_t>(hour)] += shared[static_cast<size_t>(hour)] + 0.3 * by_hour(hour % 24);
      arm.use_until.push_back(use_at(spec, arm, hour) + (hour > 0 ? arm.use_until.back() : 0));
    }
    for (uint32_t user = 0; user < spec.users; ++user) {
      add_user(spec, arm, user, random, is_test ? week.test : week.control);
    }
  }
  return week;
}

WeekCoverage cover_weeks(const WeekSpec& spec, size_t weeks, uint64_t first) {
  WeekCoverage coverage;
  const double truth = spec.effect - 1;
  for (size_t i = 0; i < weeks; ++i) {
    const SimulatedWeek week = simulate_week(spec, first + i);
    const auto compared = statistics::compare_percentiles(
        week.control, week.test, {.shares = {kWeekShares.begin(), kWeekShares.end()}});
    if (!compared) {
      continue;
    }
    ++coverage.weeks;
    for (size_t j = 0; j < kWeekShares.size(); ++j) {
      const statistics::PercentileChange& row = compared->rows[j];
      WeekCoverage::Percentile& of = coverage.percentiles[j];
      of.squared_error += (row.change - truth) * (row.change - truth);
      if (row.low) {
        ++of.with_interval;
        of.hits += *row.low <= truth && truth <= *row.high ? 1 : 0;
        of.above += *row.low > truth ? 1 : 0;
        of.width += (*row.high - *row.low) / 2;
      }
    }
  }
  return coverage;
}

std::vector<WeekSpec> week_specs() {
  return {
      {.name = "2-days", .users = 3000, .days = 2, .requests_per_day = 2},
      {.name = "2-days-incidents", .users = 3000, .days = 2, .requests_per_day = 2, .own_hours = 0.15},
      {.name = "7-days", .users = 3000, .days = 7},
      {.name = "7-days-few-users", .users = 300, .days = 7, .requests_per_day = 5},
      {.name = "7-days-incidents", .users = 3000, .days = 7, .own_hours = 0.15},
      {.name = "7-days-rolled-out", .users = 3000, .days = 7, .requests_per_day = 1, .is_rolled_out = true},
      {.name = "14-days-users-differ",
       .users = 3000,
       .days = 14,
       .requests_per_day = 0.3,
       .user_deviation = 0.8},
      {.name = "20-days", .users = 3000, .days = 20, .requests_per_day = 0.2, .own_hours = 0.08}};
}

}  // namespace plimsoll::fleets
