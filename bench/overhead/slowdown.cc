#include "bench/overhead/slowdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll::bench {
namespace {

double percent(double log_ratio) {
  return std::expm1(log_ratio) * 100;
}

Interval percent(const Interval& interval) {
  return {percent(interval.mean), percent(interval.low), percent(interval.high)};
}

std::string text(const Interval& interval, size_t values, std::string_view of_what) {
  return fmt::format("mean {:+.2f}, its 95 % interval {:+.2f} to {:+.2f}, of {} {}", interval.mean,
                     interval.low, interval.high, values, of_what);
}

}  // namespace

void Slowdown::add(size_t round, const std::string& program, double without, double with) {
  const double log_ratio = std::log(with / without);
  by_program_[program].push_back(log_ratio);
  by_round_.resize(std::max(by_round_.size(), round + 1));
  by_round_[round].push_back(log_ratio);
}

double Slowdown::median_percent() const {
  std::vector<double> all;
  for (const auto& pairs : by_round_) {
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  return percent(median(all));
}

Interval Slowdown::interval_percent() const {
  std::vector<double> means;
  for (const auto& pairs : by_round_) {
    means.push_back(std::accumulate(pairs.begin(), pairs.end(), 0.0) / static_cast<double>(pairs.size()));
  }
  return percent(mean_interval(means));
}

void Slowdown::report(double goal_median, double goal_upper, Report& report) const {
  const Interval interval = interval_percent();
  report.add({.name = fmt::format("overhead-{}-median-percent", measure_),
              .value = median_percent(),
              .unit = "%",
              .goal = goal_median,
              .note = "the median of all pairs: profiled over not profiled"});
  report.add({.name = fmt::format("overhead-{}-upper-percent", measure_),
              .value = interval.high,
              .unit = "%",
              .goal = goal_upper,
              .note = text(interval, by_round_.size(), "rounds")});
  report_programs(report);
}

void Slowdown::report(Report& report) const {
  report.add({.name = fmt::format("overhead-{}-median-percent", measure_),
              .value = median_percent(),
              .unit = "%",
              .note = text(interval_percent(), by_round_.size(), "rounds")});
  report_programs(report);
}

void Slowdown::report_programs(Report& report) const {
  for (const auto& [program, pairs] : by_program_) {
    report.add({.name = fmt::format("overhead-{}-{}-median-percent", measure_, program),
                .value = percent(median(pairs)),
                .unit = "%",
                .note = text(percent(mean_interval(pairs)), pairs.size(), "pairs")});
  }
}

}  // namespace plimsoll::bench
