// The order in which a linker should lay out functions: callers beside their callees, hot ones together.
//
// Call-chain clustering (C3) of Ottoni and Maher, "Optimizing Function Placement for Large-Scale Data-Center Applications", CGO 2017.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "query/fdo/code/function_extents.h"
#include "query/fdo/counts/binary_counts.h"

namespace plimsoll::fdo {

// How often one function called another: from stacks or branch records.
struct CallCount {
  uint64_t caller = 0;  // an address in each
  uint64_t callee = 0;
  double count = 0;
};

enum class Linker { kLld, kGold };

// Calls among the branches of `counts`: from one function to the entry of another.
std::vector<CallCount> calls_of_branches(const BinaryCounts& counts,
                                         const std::vector<FunctionExtent>& extents);

// Names of the functions with samples or calls, a line each, in the order that they are to have; each name once. Without calls by hotness alone: samples
// by byte. For lld's --symbol-ordering-file names as linked; for gold's --section-ordering-file their sections (".text.NAME", of code compiled with
// -ffunction-sections).
std::string write_symbol_order(const BinaryCounts& counts, const std::vector<FunctionExtent>& extents,
                               std::span<const CallCount> calls, Linker linker = Linker::kLld);

}  // namespace plimsoll::fdo
