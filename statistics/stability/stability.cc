#include "statistics/stability/stability.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace plimsoll::statistics {
namespace {

// Two looks, at distance and entropy, share 5 % (Bonferroni).
constexpr double kSignificant = 0.025;
// With fewer units no permutation is rare enough: of 7 pairs, each is one of 128.
constexpr size_t kMinUnits = 8;

bool has_moved(const Comparison& comparison, const Tolerance& tolerance) {
  const ByChance& distance = comparison.distance;
  const ByChance& change = comparison.entropy_change;
  const bool is_elsewhere = distance.p_value < kSignificant && distance.observed > tolerance.distance;
  const bool is_spread =
      change.p_value < kSignificant && std::abs(change.observed - change.expected) > tolerance.entropy_bits;
  return is_elsewhere || is_spread;
}

}  // namespace

std::string_view stability_name(Stability stability) {
  switch (stability) {
    case Stability::kStable:
      return "stable";
    case Stability::kNoisy:
      return "noisy";
    case Stability::kMoved:
      return "moved";
    case Stability::kTooFewMachines:
      return "too few machines";
  }
  return "";
}

Verdict judge(const Comparison& comparison, const SamplingNoise& noise, const Tolerance& tolerance) {
  Verdict verdict;
  if (comparison.units < kMinUnits || noise.machines() < 2) {
    return verdict;
  }
  const size_t machines = noise.machines();
  verdict.noise = noise.distance(static_cast<double>(machines), 1);
  if (has_moved(comparison, tolerance)) {
    verdict.stability = Stability::kMoved;
    return verdict;
  }
  verdict.stability = verdict.noise <= tolerance.distance ? Stability::kStable : Stability::kNoisy;
  if (verdict.stability == Stability::kNoisy) {
    if (const auto needed = noise.machines_for(tolerance.distance)) {
      verdict.machines_needed = std::max(*needed, machines + 1) - machines;
    }
    verdict.times_longer = noise.time_for(tolerance.distance);
  }
  return verdict;
}

Halves::Halves(const Window& window, size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<uint32_t, std::vector<size_t>> strata;
  for (size_t i = 0; i < window.machines.size(); ++i) {
    strata[window.strata[i]].push_back(i);
  }
  std::vector<bool> is_first(window.machines.size());
  bool takes_odd_one = false;
  for (auto& [stratum, places] : strata) {
    std::ranges::shuffle(places, random);
    const size_t half = (places.size() + (takes_odd_one ? 1 : 0)) / 2;
    takes_odd_one ^= places.size() % 2 != 0;
    for (size_t i = 0; i < half; ++i) {
      is_first[places[i]] = true;
    }
  }
  for (size_t i = 0; i < window.machines.size(); ++i) {
    Half& half = is_first[i] ? first_ : second_;
    half.machines.push_back(window.machines[i]);
    half.strata.push_back(window.strata[i]);
    const auto values = window.values.subspan(i * rows, rows);
    half.values.insert(half.values.end(), values.begin(), values.end());
  }
}

}  // namespace plimsoll::statistics
