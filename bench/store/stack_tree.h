// Generated stacks: a prefix tree as dictionaries have it, and the functions of its locations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/model/dictionaries.h"

namespace plimsoll::bench {

inline constexpr uint32_t kFunctions = 20'000;

// Stacks of about 20 locations, three quarters of them of the job's own 1,000, the others of 20,000 that all jobs share; their
// frames (one and a half each, inlined ones first) are of 20,000 functions, skewed.
struct StackTree {
  std::vector<store::StackNode> nodes{1};  // a parent before its children
  uint32_t first_stack = 0;  // of the job 0; the stacks of all jobs follow, ancestors come before it
  std::vector<uint32_t> first_frame{0};  // by location; one more than there are locations
  std::vector<uint32_t> functions;       // of the frames; from 0

  std::span<const uint32_t> functions_of(uint32_t location) const {
    return std::span(functions).subspan(first_frame[location],
                                        first_frame[location + 1] - first_frame[location]);
  }
  uint32_t leaf_function(uint32_t stack) const { return functions_of(nodes[stack].location).front(); }
  // Each once, in ascending order.
  std::vector<uint32_t> distinct_functions(uint32_t stack) const;
};

// `stacks_of_job` for each of `jobs`; a stack shares its outer locations with another one of its job.
StackTree generate_stacks(uint32_t jobs, uint32_t stacks_of_job);

}  // namespace plimsoll::bench
