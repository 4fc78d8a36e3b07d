// A profile for llvm-bolt's --data (its "fdata" text), straight from counts by address: no disassembly is needed, for BOLT has its own.
#pragma once

#include <string>
#include <vector>

#include "query/fdo/code/function_extents.h"
#include "query/fdo/counts/binary_counts.h"

namespace plimsoll::fdo {

struct BoltProfile {
  std::string text;            // a heading alone where `value` is 0
  double value = 0;            // that went in
  double value_elsewhere = 0;  // at addresses of no function
};

// With branches where there are any ("1 FROM OFFSET 1 TO OFFSET MISPREDICTS COUNT"; mispredictions are unknown and 0), else by samples ("no_lbr EVENT:"
// and "1 SYMBOL OFFSET COUNT"). Counts are scaled to whole numbers of about the samples behind them. `extents` are the binary's own symbols: BOLT
// matches by them, local ones by their number among those of a name.
BoltProfile write_bolt(const BinaryCounts& counts, const std::vector<FunctionExtent>& extents);

}  // namespace plimsoll::fdo
