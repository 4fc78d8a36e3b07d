// The rows of selections as windows of machines, for what permutations of machines make of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "query/rows/per_machine_rows.h"
#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "statistics/stability/permutation.h"

namespace plimsoll::query {

// A selection: its rows by machine, as MachineSample::machines_of_origins() numbers them, and by machine what they are parts of.
struct SampledSide {
  UnitTable rows;
  std::span<const double> whole;  // empty: that of the table
};

struct MachineWindow {
  std::vector<uint32_t> machines;
  std::vector<uint32_t> strata;
  size_t columns = 0;
  // Machine by machine, `columns` each: of each row its self and its total, then the whole; or of tables without totals its self, then
  // what is left of the whole.
  LargeVector<double> values;
  std::vector<double> sizes;  // the whole

  statistics::Window window() const { return {machines, strata, values, sizes}; }  // borrows
};

// Machines that have nothing of a side are not in its window. Strata are the parts of the fleet whatever the draw. The window takes the
// table's values over, in place: a table of many machines and rows has tens of megabytes.
MachineWindow machine_window(SampledSide side, const MachineSample& sample);

// Of two sides, which must be of the same rows and of this sample. Of strata that only one side has (two platforms, each drawn from
// separately) all are one stratum, since otherwise no machine could be permuted.
std::array<MachineWindow, 2> machine_windows(std::array<SampledSide, 2> sides, const MachineSample& sample);

}  // namespace plimsoll::query
