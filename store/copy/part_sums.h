// What tells whether the rows of a part are the same in two stores: their hits by day, event and job.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/copy/part.h"

namespace plimsoll::store {

struct SumKey {
  int64_t day = 0;  // UTC, since 1970: in which the profile begins
  std::string event = {};
  std::string job = {};

  auto operator<=>(const SumKey&) const = default;
};

struct PartSums {
  size_t profiles = 0;
  std::map<SumKey, double> hits = {};

  double all_hits() const;
};

// Reads all groups of its rows, by the path of questions.
Result<PartSums> sums_of(const CopiedPart& part);

// The first difference, for people; nothing: they are the same.
std::optional<std::string> difference_between(const PartSums& expected, const PartSums& found);

}  // namespace plimsoll::store
