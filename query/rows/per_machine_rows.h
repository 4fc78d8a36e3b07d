// What the rows that a view shows come to machine by machine, for their margins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/huge_page_allocator.h"
#include "base/result.h"
#include "query/rows/grouping.h"
#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

class RowCells;

// A row's part that one unit brought: a machine in a draw (of a MachineSample), a machine, or whatever else origins are put together
// to.
struct UnitValues {
  uint32_t unit = 0;
  RowValues value = {};
  RowValues squares = {};  // of what each sample behind it stands for
};

// Of each row, row-major, by event; units ascend, and those without samples are left out.
using UnitRows = std::vector<std::vector<UnitValues>>;

struct PerMachineRows {
  size_t events = 1;
  UnitRows rows;

  // Of all that was selected, by event and unit.
  std::vector<std::vector<double>> whole;
  std::vector<std::vector<double>> whole_squares;

  std::span<const UnitValues> of(size_t row, size_t event = 0) const { return rows[row * events + event]; }
};

// The same without squares, of one event, as a table with a place for each unit and row: what permutations of units need.
struct UnitTable {
  // Unit by unit: of each row its self, or its self and its total; then one more, 0, for what is not in rows.
  LargeVector<double> values;
  size_t columns = 1;
  bool has_totals = false;
  std::vector<double> whole;  // of all that was selected, by unit
};

// Of the same rows and units: what both have together.
UnitTable sum_of(UnitTable a, const UnitTable& b);

// What is asked for of each row.
struct RowMeasures {
  bool totals = true;   // else self alone: the totals are 0
  bool squares = true;  // else values alone: all squares are 0
};

// Splits rows into what each unit of some origins brought. Immutable: any number of threads may have it split. Borrows the snapshot.
class RowSplitter {
 public:
  // Rows called `keys`, none twice. Costs about 20 ns for each node of the stacks, where rows are of frames.
  RowSplitter(std::span<const RowKey> keys, size_t events, const Grouping& grouping, const Snapshot& snapshot,
              RowMeasures measures = {});
  ~RowSplitter();

  // Of a request whose groups `grouping` has set, and whose measures are kValue and kSamples. One pass over the stored rows, and one
  // over their groups alone, at once; takes 48 bytes for each row, event and unit that has some of it. kTooLarge past the request's max_sums.
  Result<PerMachineRows> split(const store::AggregateRequest& request,
                               const OriginUnits& sampling_units) const;
  // Likewise of a request for one event; takes 8 bytes for each row and unit, or 16 with totals. kTooLarge where those are more than
  // max_sums.
  Result<UnitTable> tabulate(const store::AggregateRequest& request, const OriginUnits& sampling_units) const;

 private:
  store::AggregateRequest measured(store::AggregateRequest request) const;
  store::AggregateRequest of_rows(store::AggregateRequest request) const;

  std::unique_ptr<const RowCells> rows_;
  const size_t events_;
  const RowMeasures measures_;
  const Snapshot& snapshot_;
};

// Likewise of the nodes of a merged tree: each node's total, by its deepest node on every stack. `parents` by node: they come before their
// children, and the first is the root. Of a request for one event; its groups are not looked at.
Result<PerMachineRows> split_tree(std::span<const uint32_t> parents, std::vector<uint32_t> node_of_stack,
                                  const store::AggregateRequest& request, const OriginUnits& sampling_units,
                                  const Snapshot& snapshot);

}  // namespace plimsoll::query
