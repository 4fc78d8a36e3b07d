#include "statistics/cosine_waves.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace plimsoll::statistics {
namespace {

// Of the sum of values: sum over i, j of v_i v_j exp(-|t_i - t_j| / correlation), where each i needs one step: the sum over all before it
// decays from time to time.
double variance_of_sum(std::span<const TimedMass> masses, std::span<const double> values,
                       double correlation_ns) {
  double variance = 0;
  double before = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      const auto passed_ns = static_cast<double>(masses[i].time_ns - masses[i - 1].time_ns);
      before = (before + values[i - 1]) * std::exp(-passed_ns / correlation_ns);
    }
    variance += values[i] * (values[i] + 2 * before);
  }
  return variance;
}

}  // namespace

double cosine_wave(size_t wave, double share) {
  return std::numbers::sqrt2 * std::cos(std::numbers::pi * static_cast<double>(wave + 1) * share);
}

double share_seen_by_waves(std::span<const TimedMass> masses, size_t waves, double correlation_ns) {
  std::vector<double> values;
  values.reserve(masses.size());
  for (const TimedMass& part : masses) {
    values.push_back(part.mass);
  }
  const double of_mean = variance_of_sum(masses, values, correlation_ns);
  if (of_mean <= 0 || waves == 0) {
    return 1;
  }
  double of_waves = 0;
  for (size_t wave = 0; wave < waves; ++wave) {
    double before = 0;
    for (size_t i = 0; i < masses.size(); ++i) {
      values[i] = masses[i].mass * cosine_wave(wave, before + masses[i].mass / 2);
      before += masses[i].mass;
    }
    of_waves += variance_of_sum(masses, values, correlation_ns);
  }
  return of_waves / static_cast<double>(waves) / of_mean;
}

}  // namespace plimsoll::statistics
