#include "query/plot/ticks.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace plimsoll::query {
namespace {

// What rounding may make of a value that is a tick itself, relative to it or to a step.
constexpr double kTickTolerance = 1e-9;

double round_step(double at_least) {
  const double power = std::pow(10, std::floor(std::log10(at_least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= at_least * (1 - kTickTolerance)) {
      return factor * power;
    }
  }
  return 10 * power;
}

// From the last candidate that is at most `low` to the first that is at least `high`; candidates rise and enclose the range.
std::vector<double> enclosing(const std::vector<double>& candidates, double low, double high) {
  auto first = std::ranges::upper_bound(candidates, low * (1 + kTickTolerance)) - 1;
  auto last = std::ranges::lower_bound(candidates, high * (1 - kTickTolerance));
  first -= first == last ? 1 : 0;
  return {first, last + 1};
}

}  // namespace

std::vector<double> linear_ticks(double low, double high, size_t max_steps) {
  if (low == high) {
    high = low + (low == 0 ? 1 : std::abs(low));
  }
  const double step = round_step((high - low) / static_cast<double>(max_steps));
  const double first = std::floor(low / step + kTickTolerance);
  const double last = std::ceil(high / step - kTickTolerance);
  std::vector<double> ticks;
  const auto steps = static_cast<size_t>(last - first);  // not many more than max_steps
  for (size_t i = 0; i <= steps; ++i) {
    ticks.push_back((first + static_cast<double>(i)) * step);
  }
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high, size_t max_steps) {
  const int first = static_cast<int>(std::floor(std::log10(low))) - 1;
  const int last = static_cast<int>(std::ceil(std::log10(high))) + 1;
  const auto ticks_of = [&](std::span<const double> factors, int stride) {
    std::vector<double> candidates;
    for (int exponent = first; exponent < last + stride; exponent += stride) {
      for (const double factor : factors) {
        candidates.push_back(factor * std::pow(10, exponent));
      }
    }
    return enclosing(candidates, low, high);
  };
  constexpr double kFactors[] = {1, 2, 5};
  std::vector<double> ticks = ticks_of(kFactors, 1);
  for (int stride = 1; ticks.size() > std::max<size_t>(max_steps, 2) + 1; ++stride) {
    ticks = ticks_of(std::span(kFactors).first(1), stride);
  }
  return ticks;
}

}  // namespace plimsoll::query
