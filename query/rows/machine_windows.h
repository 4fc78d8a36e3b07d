// The rows of two selections as windows of machines, for what permutations of machines make of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "query/statistics/stability/permutation.h"

namespace plimsoll::query {

// One of the two: its rows by unit, and by unit what they are parts of.
struct SampledSide {
  const SampledRows& rows;
  std::span<const double> whole;
};

struct MachineWindow {
  std::vector<uint32_t> machines;
  std::vector<uint32_t> strata;
  // Machine by machine: of each row self and total (of the first event), then the whole.
  std::vector<double> values;
  std::vector<double> sizes;  // the whole

  statistics::Window window() const { return {machines, strata, values, sizes}; }  // borrows
};

// Both sides must be of the same rows and of this sample. Machines that have nothing of a side are not in its window; one that was drawn
// several times is one. Strata are the parts of the fleet whatever the draw; of those that only one side has (two platforms, each drawn
// from separately) all are one stratum, since otherwise nobody could trade places.
std::array<MachineWindow, 2> machine_windows(const std::array<SampledSide, 2>& sides,
                                             const MachineSample& sample);

}  // namespace plimsoll::query
