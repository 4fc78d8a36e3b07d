// Counted ranges that may overlap -> pieces that do not.
#pragma once

#include <cstdint>
#include <vector>

#include "query/fdo/code/execution_counts.h"

namespace plimsoll::fdo {

struct CodePiece {
  uint64_t from = 0;
  uint64_t to = 0;  // behind the first byte of its last instruction, where `ends_range`
  double count = 0;
  bool ends_range = false;  // nothing is known of what follows: its last instruction is longer than `to` says
};

// Ascending. A piece's count is the sum of those of the ranges that cover it: exactly 0 where all of these are 0. Ranges that end
// before they begin, and counts that are negative or no number, are left out.
std::vector<CodePiece> disjoint_pieces(const std::vector<CountedRange>& ranges);

}  // namespace plimsoll::fdo
