#include "statistics/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

constexpr double kUpperProbability = 0.975;  // of a two-sided interval of 95 %

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

std::string_view margin_kind_name(MarginKind kind) {
  switch (kind) {
    case MarginKind::kBetweenMachines:
      return "between machines";
    case MarginKind::kFewMachines:
      return "few machines";
    case MarginKind::kWithinMachines:
      return "within machines";
    case MarginKind::kWithinOneMachine:
      return "within one machine";
    case MarginKind::kTooFewMachines:
      return "too few machines";
    case MarginKind::kTooFewSamples:
      return "too few samples";
    case MarginKind::kNoSamples:
      return "no samples";
  }
  return "";
}

std::optional<MarginKind> margin_kind_called(std::string_view name) {
  using enum MarginKind;
  constexpr std::array kKinds{kBetweenMachines, kFewMachines,   kWithinMachines, kWithinOneMachine,
                              kTooFewMachines,  kTooFewSamples, kNoSamples};
  const auto found = std::ranges::find(kKinds, name, margin_kind_name);
  return found == kKinds.end() ? std::nullopt : std::optional(*found);
}

bool has_margin(MarginKind kind) {
  return kind == MarginKind::kBetweenMachines || kind == MarginKind::kFewMachines ||
         kind == MarginKind::kWithinMachines || kind == MarginKind::kWithinOneMachine;
}

Interval interval(double value, double standard_error, double degrees, Scale scale) {
  const double half = student_t_quantile(kUpperProbability, degrees) * standard_error;
  if (scale == Scale::kLogit && value > 0 && value < 1) {
    const double logit = std::log(value / (1 - value));
    const double half_logit = half / (value * (1 - value));
    return {logistic(logit - half_logit), logistic(logit + half_logit)};
  }
  if (scale == Scale::kLog && value > 0) {
    const double factor = std::exp(half / value);
    return {value / factor, value * factor};
  }
  return {value - half, value + half};
}

void set_interval(const Interval& interval, Estimate& estimate) {
  estimate.low = interval.low;
  estimate.high = interval.high;
  estimate.margin = (interval.high - interval.low) / 2;
}

}  // namespace plimsoll::statistics
