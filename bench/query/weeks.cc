#include <algorithm>
#include <cmath>

#include "bench/query/parts.h"
#include "tests/fleets/simulated_weeks.h"

namespace plimsoll::bench {
namespace {

constexpr uint64_t kWeekSeed = 20261129;
constexpr double kMinWeekCoverage = 0.94;
constexpr double kMaxWeekCoverage = 0.97;

// Below the least coverage by two standard errors of so many intervals, which one cell of forty is by chance.
double min_coverage_of(double intervals) {
  constexpr double kWeekLevel = 0.95;
  return kMinWeekCoverage - 2 * std::sqrt(kWeekLevel * (1 - kWeekLevel) / std::max(intervals, 1.0));
}

struct CoverageSum {
  double hits = 0;
  double intervals = 0;
  double withheld = 0;
};

void report_week(const fleets::WeekSpec& spec, const fleets::WeekCoverage& coverage, Report& report,
                 CoverageSum& sum) {
  for (size_t i = 0; i < fleets::kWeekShares.size(); ++i) {
    const fleets::WeekCoverage::Percentile& of = coverage.percentiles[i];
    const auto weeks = static_cast<double>(coverage.weeks);
    const auto intervals = static_cast<double>(of.with_interval);
    sum.hits += static_cast<double>(of.hits);
    sum.intervals += intervals;
    sum.withheld += weeks - intervals;
    report.add({.name = fmt::format("weeks-{}-p{:g}-coverage", spec.name, fleets::kWeekShares[i] * 100),
                .value = coverage.covered(i),
                .unit = "share",
                .better = Better::kHigher,
                .goal = min_coverage_of(intervals),
                .note = fmt::format("of {} of {} weeks; above the truth {:.3f}; {} {:.4f}, error {:.4f}",
                                    of.with_interval, coverage.weeks,
                                    static_cast<double>(of.above) / std::max(intervals, 1.0),
                                    "half an interval / 1.96", of.width / std::max(intervals, 1.0) / 1.96,
                                    std::sqrt(of.squared_error / weeks))});
  }
}

}  // namespace

Status measure_weeks(const Flags& flags, Report& report) {
  const size_t weeks = flags.quick ? 100 : 1000;
  const std::vector<fleets::WeekSpec> specs = fleets::week_specs();
  CoverageSum sum;
  for (const fleets::WeekSpec& spec : specs) {
    report_week(spec, fleets::cover_weeks(spec, weeks, kWeekSeed), report, sum);
  }
  report.add({.name = "weeks-coverage",
              .value = sum.hits / sum.intervals,
              .unit = "share",
              .better = Better::kHigher,
              .goal = min_coverage_of(sum.intervals),
              .note = fmt::format("{:.1f} % of the intervals are withheld: too few users",
                                  100 * sum.withheld / (sum.withheld + sum.intervals))});
  // Intervals that hold more often than they say are wider than they need to be.
  report.add({.name = "weeks-coverage-not-exceeded",
              .value = sum.hits / sum.intervals,
              .unit = "share",
              .better = Better::kLower,
              .goal = kMaxWeekCoverage,
              .note = "nominally 0.95"});
  return {};
}

}  // namespace plimsoll::bench
