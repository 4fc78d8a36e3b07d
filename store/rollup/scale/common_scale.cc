#include "store/rollup/scale/common_scale.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::store {
namespace {

constexpr uint32_t kFinestUnit = 64;
constexpr double kTolerance = 1.0 / 64;
constexpr double kMaxHits = 9007199254740992.0;  // 2^53

// By profile; empty: the unit does not do.
std::vector<uint32_t> multiples_of(double unit, std::span<const ScaledHits> parts) {
  std::vector<uint32_t> multipliers;
  multipliers.reserve(parts.size());
  for (const ScaledHits& part : parts) {
    const double multiple = part.hits == 0 ? 1 : std::round(part.scale / unit);
    const bool fits = part.hits == 0 || (multiple <= UINT32_MAX &&
                                         std::abs(multiple * unit - part.scale) <= kTolerance * part.scale);
    if (!fits) {
      return {};
    }
    multipliers.push_back(static_cast<uint32_t>(multiple));
  }
  return multipliers;
}

}  // namespace

std::optional<CommonScale> common_scale(std::span<const ScaledHits> parts) {
  CommonScale common;
  double least = INFINITY;
  double most = 0;
  double value = 0;
  for (const ScaledHits& part : parts) {
    if (part.hits == 0) {
      continue;
    }
    if (!(part.scale > 0) || !std::isfinite(part.scale)) {
      return std::nullopt;
    }
    least = std::min(least, part.scale);
    most = std::max(most, part.scale);
    value += part.scale * static_cast<double>(part.hits);
  }
  if (most == 0) {
    common.multipliers.assign(parts.size(), 1);
    return common;
  }
  for (uint32_t fineness = 1; fineness <= kFinestUnit && common.multipliers.empty(); fineness *= 2) {
    common.multipliers = multiples_of(least / fineness, parts);
  }
  if (common.multipliers.empty()) {
    return std::nullopt;
  }
  double hits = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    hits += static_cast<double>(parts[i].hits) * common.multipliers[i];
    common.hits += parts[i].hits * common.multipliers[i];
  }
  if (hits > kMaxHits) {
    return std::nullopt;
  }
  common.scale = least == most ? least : value / hits;
  return common;
}

}  // namespace plimsoll::store
