// What the rows of a view come to, of all machines together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "query/rows/grouping.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// Self counts a sample at its leaf (the innermost inlined frame), total once for each row that any frame of its stack falls into. Of
// dimensions that are not of frames the two are equal.
struct RowValues {
  double self = 0;
  double total = 0;

  RowValues& operator+=(const RowValues& other) {
    self += other.self;
    total += other.total;
    return *this;
  }
  friend bool operator==(const RowValues&, const RowValues&) = default;
};

// One of the two, as tables name its column.
struct RowPart {
  const char* name;
  double RowValues::* values;
};
inline constexpr std::array<RowPart, 2> kRowParts{{{"self", &RowValues::self}, {"total", &RowValues::total}}};

// Of each row, and each event that was asked for (the groups of the request's event_group; without those, one).
struct SummedRows {
  size_t events = 1;
  std::vector<RowKey> keys;       // none twice; in no particular order
  std::vector<RowValues> values;  // key-major

  size_t size() const { return keys.size(); }
  const RowValues& of(size_t row, size_t event = 0) const { return values[row * events + event]; }
};

// The first measure of cells that were grouped by `grouping`, and by stack where it needs that (else by whatever). Costs about 5 ns for
// each frame of each cell, of few cells; of many, 2 ns for each node of the stacks.
SummedRows sum_rows(const store::Cells& cells, size_t events, Grouping& grouping, const Snapshot& snapshot);

struct SummedSelection {
  SummedRows rows;
  // Of all that was selected, of one event.
  double value = 0;
  double samples = 0;
};

// Sums what a request selects, whose groups `grouping` has set, and hands the symbols of its event number `event_of_symbols`, to which
// the whole belongs, to `symbols`. One pass over the stored rows, and where rows are not of stacks one over their groups.
Result<SummedSelection> sum_selection(store::AggregateRequest request, size_t events,
                                      uint32_t event_of_symbols, Grouping& grouping, const Snapshot& snapshot,
                                      SymbolCoverage& symbols);

// The rows of one event, that of `resolved`, whose coverage then says what has no symbols. kNotFound with the reason where the
// selection has no samples. Costs as much.
Result<SummedRows> sum_event(const Selection& selection, ResolvedSelection& resolved, Grouping& grouping,
                             const Snapshot& snapshot, SymbolCoverage& symbols);

// The first `count` of the rows at `places`, in the order that `before` gives any two places.
SummedRows first_rows(const SummedRows& rows, std::vector<uint32_t> places, size_t count,
                      const std::function<bool(uint32_t, uint32_t)>& before);

}  // namespace plimsoll::query
