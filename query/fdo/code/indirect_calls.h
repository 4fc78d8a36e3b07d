// Where indirect calls went, as far as stacks of samples show it.
#pragma once

#include <vector>

#include "query/fdo/code/execution_counts.h"
#include "query/fdo/code/program_code.h"
#include "query/fdo/counts/binary_counts.h"

namespace plimsoll::fdo {

// Of each indirect call that stacks have (BinaryCounts::calls): it is made as often as its block runs, and its targets have as much of
// that as they have of the samples in functions that it called. That is right where there is one target, as mostly; of several it favours
// those that take longer, and one that only calls on is not seen. Nothing is said of a call with few samples. `ranges`: blocks and how
// often they ran, by rising address. Ascending.
std::vector<CountedBranch> indirect_calls(const ProgramCode& code, const BinaryCounts& counts,
                                          const std::vector<CountedRange>& ranges);

}  // namespace plimsoll::fdo
