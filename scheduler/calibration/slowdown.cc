#include "scheduler/calibration/slowdown.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "statistics/student_t.h"

namespace plimsoll::scheduler {
namespace {

constexpr size_t kMinPairs = 2;

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values, double mean) {
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// How far the upper limit lies above the mean, in logarithms.
double reach(double log_deviation, size_t pairs, double confidence) {
  const auto count = static_cast<double>(pairs);
  return statistics::student_t_quantile(confidence, count - 1) * log_deviation / std::sqrt(count);
}

bool is_duration(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

Result<Slowdown> slowdown_of(std::span<const double> without, std::span<const double> with,
                             double confidence) {
  if (without.size() != with.size() || with.size() < kMinPairs) {
    return fail(ErrorCode::kInvalid, "{} runs with profiling and {} without are fewer than {} pairs",
                with.size(), without.size(), kMinPairs);
  }
  if (!std::ranges::all_of(without, is_duration) || !std::ranges::all_of(with, is_duration)) {
    return fail(ErrorCode::kInvalid, "the time of a run is zero or not finite");
  }
  if (confidence <= 0.5 || confidence >= 1 || std::isnan(confidence)) {
    return fail(ErrorCode::kInvalid, "a confidence of {} is not between 0.5 and 1", confidence);
  }
  std::vector<double> log_ratios;
  for (size_t i = 0; i < with.size(); ++i) {
    log_ratios.push_back(std::log(with[i] / without[i]));
  }
  const double mean = mean_of(log_ratios);
  const double deviation = deviation_of(log_ratios, mean);
  return Slowdown{.pairs = with.size(),
                  .mean = std::expm1(mean),
                  .upper_limit = std::expm1(mean + reach(deviation, with.size(), confidence)),
                  .log_deviation = deviation};
}

std::optional<size_t> highest_permitted(std::span<const Slowdown> by_rate, double most) {
  const auto is_over = [&](const Slowdown& slowdown) { return slowdown.upper_limit > most; };
  const auto first_over = std::ranges::find_if(by_rate, is_over);
  const auto permitted = static_cast<size_t>(first_over - by_rate.begin());
  return permitted > 0 ? std::optional(permitted - 1) : std::nullopt;
}

std::optional<size_t> pairs_needed(const Slowdown& slowdown, double most, double confidence) {
  constexpr size_t kMaxPairs = 1'000'000;
  const double room = std::log1p(most) - std::log1p(slowdown.mean);
  if (room <= 0 || reach(slowdown.log_deviation, kMaxPairs, confidence) > room) {
    return std::nullopt;
  }
  size_t too_few = kMinPairs - 1;
  size_t enough = kMaxPairs;
  while (enough - too_few > 1) {
    const size_t middle = too_few + (enough - too_few) / 2;
    (reach(slowdown.log_deviation, middle, confidence) > room ? too_few : enough) = middle;
  }
  return enough;
}

}  // namespace plimsoll::scheduler
