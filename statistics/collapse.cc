#include "statistics/collapse.h"

#include <optional>

namespace plimsoll::statistics {
namespace {

// The stratum with machines before `index`, else behind it.
std::optional<size_t> neighbour(std::span<const size_t> counts, size_t index) {
  for (size_t i = index; i > 0; --i) {
    if (counts[i - 1] > 0) {
      return i - 1;
    }
  }
  for (size_t i = index + 1; i < counts.size(); ++i) {
    if (counts[i] > 0) {
      return i;
    }
  }
  return std::nullopt;
}

// Of each stratum, the one that it is joined with: itself, or one with a smaller number of its own.
std::vector<size_t> partners(std::span<const size_t> counts) {
  std::vector<size_t> partner(counts.size());
  std::vector<size_t> singles;
  for (size_t i = 0; i < counts.size(); ++i) {
    partner[i] = i;
    if (counts[i] == 1) {
      singles.push_back(i);
    }
  }
  for (size_t i = 0; i + 1 < singles.size(); i += 2) {
    partner[singles[i + 1]] = singles[i];
  }
  if (singles.size() % 2 == 0) {
    return partner;
  }
  if (singles.size() > 1) {
    partner[singles.back()] = singles[singles.size() - 3];
  } else if (const auto other = neighbour(counts, singles.front())) {
    partner[singles.front()] = *other;
  }
  return partner;
}

}  // namespace

std::vector<uint32_t> collapse(std::span<const size_t> counts) {
  const std::vector<size_t> partner = partners(counts);
  std::vector<uint32_t> numbers(counts.size());
  uint32_t next = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && partner[i] == i) {
      numbers[i] = next++;
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (partner[i] != i) {
      numbers[i] = numbers[partner[i]];
    }
  }
  return numbers;
}

}  // namespace plimsoll::statistics
