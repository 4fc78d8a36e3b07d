#include "query/fdo/profile/code_pieces.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::fdo {
namespace {

struct Boundary {
  uint64_t address;
  uint64_t count;  // fixed point
  bool begins;
};

bool is_sound(const CountedRange& range) {
  return range.first <= range.last && range.last != UINT64_MAX && std::isfinite(range.count) &&
         range.count >= 0;
}

}  // namespace

// Sums are taken of whole numbers: what is added and taken away again leaves nothing.
std::vector<CodePiece> disjoint_pieces(const std::vector<CountedRange>& ranges) {
  double sum = 0;
  for (const CountedRange& range : ranges) {
    sum += is_sound(range) ? range.count : 0;
  }
  int exponent = 0;
  (void)std::frexp(sum, &exponent);
  constexpr int kBits = 62;
  const int shift = std::isfinite(sum) ? kBits - exponent : 0;

  std::vector<Boundary> boundaries;
  boundaries.reserve(2 * ranges.size());
  for (const CountedRange& range : ranges) {
    if (is_sound(range) && std::isfinite(sum)) {
      const auto count = static_cast<uint64_t>(std::llround(std::ldexp(range.count, shift)));
      boundaries.push_back({range.first, count, true});
      boundaries.push_back({range.last + 1, count, false});
    }
  }
  std::ranges::sort(boundaries, {}, &Boundary::address);
  std::vector<CodePiece> pieces;
  uint64_t count = 0;
  uint64_t covering = 0;
  uint64_t from = 0;
  for (size_t i = 0; i < boundaries.size();) {
    const uint64_t address = boundaries[i].address;
    if (covering != 0) {
      pieces.push_back({from, address, std::ldexp(static_cast<double>(count), -shift)});
    }
    for (; i < boundaries.size() && boundaries[i].address == address; ++i) {
      // Unsigned: which of the boundaries at one address comes first does not matter.
      count += boundaries[i].begins ? boundaries[i].count : 0 - boundaries[i].count;
      covering += boundaries[i].begins ? uint64_t{1} : UINT64_MAX;
    }
    if (covering == 0 && !pieces.empty()) {
      pieces.back().ends_range = true;
    }
    from = address;
  }
  return pieces;
}

}  // namespace plimsoll::fdo
