// How often the code of a binary ran, whatever it was worked out from: what compiler profiles are made of.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll::fdo {

// Instructions that ran one after the other.
struct CountedRange {
  uint64_t first = 0;  // ELF address of the first instruction
  uint64_t last = 0;   // of the last one
  double count = 0;    // how often, in a unit that all have in common
};

struct CountedBranch {
  uint64_t from = 0;  // of the branch or call
  uint64_t to = 0;
  double count = 0;
};

struct ExecutionCounts {
  std::vector<CountedRange> ranges =
      {};  // ascending by first, then last; they may overlap where they are of branch records
  std::vector<CountedBranch> branches =
      {};  // ascending; taken ones of branch records, or indirect calls on the stacks of samples (indirect_calls.h)
  std::vector<CountedRange> entries =
      {};  // functions as ranges from their entry to their end, and how often each was entered
  bool from_branches = false;  // else from samples, so that counts are of time and not of executions
};

}  // namespace plimsoll::fdo
