#include "query/wsmeter/baseline/normality.h"

#include <cmath>
#include <vector>

#include "query/wsmeter/metric/estimate.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMinValues = 30;
constexpr int kSamples = 2000;
constexpr double kNormalTail = 1.96;

}  // namespace

std::optional<MeansOfSamples> means_of_samples(std::span<const double> values, size_t count, Random& random) {
  const Spread all = spread_of(values);
  if (values.size() < kMinValues || values.size() <= count || all.variance == 0) {
    return std::nullopt;
  }
  const double left = 1 - static_cast<double>(count) / static_cast<double>(values.size());
  const double deviation = std::sqrt(all.variance / static_cast<double>(count) * left);
  std::vector<double> drawn(values.begin(), values.end());
  MeansOfSamples result;
  for (int sample = 0; sample < kSamples; ++sample) {
    random.draw(std::span(drawn), count);
    const double z = (spread_of(std::span(drawn).first(count)).mean - all.mean) / deviation;
    result.skewness += z * z * z / kSamples;
    result.tail_share += std::abs(z) > kNormalTail ? 1.0 / kSamples : 0;
  }
  return result;
}

}  // namespace plimsoll::query
