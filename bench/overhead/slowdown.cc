#include "bench/overhead/slowdown.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll::bench {
namespace {

double percent(double log_ratio) {
  return std::expm1(log_ratio) * 100;
}

Interval percent(const Interval& interval) {
  return {percent(interval.center), percent(interval.low), percent(interval.high)};
}

std::string text(const std::vector<double>& pairs) {
  const Interval robust = percent(hodges_lehmann_interval(pairs));
  const Interval mean = percent(mean_interval(pairs));
  return fmt::format("{} pairs; Hodges-Lehmann {:+.2f}, {:+.2f} to {:+.2f}; mean {:+.2f}, {:+.2f} to {:+.2f}",
                     pairs.size(), robust.center, robust.low, robust.high, mean.center, mean.low, mean.high);
}

}  // namespace

void Slowdown::add(const std::string& program, double without, double with) {
  const double log_ratio = std::log(with / without);
  pairs_.push_back(log_ratio);
  by_program_[program].push_back(log_ratio);
}

void Slowdown::report(const Goals& goals, Report& report) const {
  Measurement median = median_of_all();
  median.goal = goals.median_percent;
  report.add(median);
  Measurement upper = upper_limit();
  upper.goal = goals.upper_percent;
  report.add(upper);
  report_programs(report);
}

void Slowdown::report(Report& report) const {
  report.add(median_of_all());
  report.add(upper_limit());
  report_programs(report);
}

Measurement Slowdown::median_of_all() const {
  return {.name = fmt::format("overhead-{}-median-percent", measure_),
          .value = percent(median(pairs_)),
          .unit = "%",
          .note = "the median of all pairs: profiled over not profiled"};
}

Measurement Slowdown::upper_limit() const {
  return {.name = fmt::format("overhead-{}-upper-percent", measure_),
          .value = percent(hodges_lehmann_interval(pairs_)).high,
          .unit = "%",
          .note = text(pairs_)};
}

void Slowdown::report_programs(Report& report) const {
  for (const auto& [program, pairs] : by_program_) {
    report.add({.name = fmt::format("overhead-{}-{}-median-percent", measure_, program),
                .value = percent(median(pairs)),
                .unit = "%",
                .note = text(pairs)});
  }
}

}  // namespace plimsoll::bench
