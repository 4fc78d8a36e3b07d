// Latencies of a control and a test arm over some days, whose true difference is known: for tests of percentile_change.h, and for
// query_bench.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "statistics/percentile_change.h"

namespace plimsoll::fleets {

struct WeekSpec {
  std::string name;
  size_t users =
      3000;  // of each arm; requests per user have a Pareto distribution (exponent 1.5, up to 100 times the smallest)
  int days = 7;
  double requests_per_day = 0.6;  // of the user with the fewest
  double effect = 1.05;           // the test's latencies, times the control's
  // Deviation of hours' log latencies that each arm has alone; what both share is 0.15. Correlated from hour to hour by 0.7.
  double own_hours = 0.03;
  double user_deviation = 0.4;  // of users' log latencies
  // The test arm grows from a tenth of its requests on the first day to all of them on the last, and has more at night and at a slow
  // place: compared without regard to time and place it differs by much more than its effect.
  bool is_rolled_out = false;
};

struct SimulatedWeek {
  std::vector<statistics::ArmValue> control;
  std::vector<statistics::ArmValue> test;
};

// Requests follow the hour of the day by a factor of 6, latencies by 1.8.
SimulatedWeek simulate_week(const WeekSpec& spec, uint64_t seed);

inline constexpr std::array<double, 3> kWeekShares{0.5, 0.95, 0.99};

// How often intervals of simulated weeks hold the truth.
struct WeekCoverage {
  struct Percentile {
    size_t with_interval = 0;
    size_t hits = 0;
    size_t above = 0;          // intervals that lie above the truth
    double squared_error = 0;  // of the change, in all weeks
    double width = 0;          // half of the interval's, summed
  };
  size_t weeks = 0;
  std::array<Percentile, kWeekShares.size()> percentiles = {};

  double covered(size_t i) const {
    const Percentile& of = percentiles[i];
    return static_cast<double>(of.hits) / static_cast<double>(of.with_interval == 0 ? 1 : of.with_interval);
  }
};

// Weeks with the seeds first, first + 1, ...
WeekCoverage cover_weeks(const WeekSpec& spec, size_t weeks, uint64_t first);

// 2 to 20 days, few users and many, arms alike and arms with incidents of their own.
std::vector<WeekSpec> week_specs();

}  // namespace plimsoll::fleets
