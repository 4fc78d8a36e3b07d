// The order in which LLVM's writers put functions and calls: the hottest first, then by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// Borrows from the map.
template <typename Value, typename Heat>
std::vector<std::pair<const std::string*, const Value*>> hottest_first(
    const std::map<std::string, Value, std::less<>>& map, const Heat& heat) {
  std::vector<std::pair<const std::string*, const Value*>> sorted;
  sorted.reserve(map.size());
  for (const auto& [name, value] : map) {
    sorted.emplace_back(&name, &value);
  }
  std::ranges::sort(sorted, [&](const auto& a, const auto& b) {
    const auto heat_of_a = heat(*a.second);
    const auto heat_of_b = heat(*b.second);
    return heat_of_a != heat_of_b ? heat_of_a > heat_of_b : *a.first < *b.first;
  });
  return sorted;
}

inline auto hottest_first(const std::map<std::string, uint64_t, std::less<>>& calls) {
  return hottest_first(calls, [](uint64_t count) { return count; });
}

inline auto hottest_first(const SampleProfile& profile) {
  return hottest_first(profile.functions, [](const FunctionSamples& function) { return function.total; });
}

}  // namespace plimsoll::fdo
