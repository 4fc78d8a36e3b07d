// The cells of a request, machine by machine.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "query/selection/machine_sample.h"
#include "query/selection/selection.h"
#include "query/selection/squares.h"
#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// One thread; once they are summed, any number of them.
class UnitCells {
 public:
  // Of a request whose measures are kValue and, where squares are wanted, kSquares. Its groups of origins, where it has any, are kept
  // apart by unit. Borrows the units.
  UnitCells(store::AggregateRequest request, const OriginUnits& sampling_units);

  // One pass over the stored rows.
  Status sum(const store::RowSource& rows);

  size_t size() const { return cells_.size(); }

  // Calls use(unit, origin_group, cell, value, squares) with each cell, whose own group of origins says nothing; units ascend, and
  // of one unit the cells do. What its request has no groups for is 0.
  template <typename Use>
  void for_each(const Use& use) const {
    for_each(Range{0, cells_.size()}, use);
  }

  // Some of the cells.
  struct Range {
    size_t first = 0;
    size_t end = 0;
  };

  // All cells in at most so many ranges of about as many each, in order; those of one event and unit are in one range.
  std::vector<Range> ranges(size_t count) const;

  template <typename Use>
  void for_each(const Range& range, const Use& use) const {
    for (size_t i = range.first; i < range.end; ++i) {
      const store::CellKey& cell = cells_.keys[i];
      const Part& part = parts_[cell[Column::kOrigin]];
      if (part.unit != OriginUnits::kNone) {  // else its event never ran: there are no hits
        use(part.unit, part.origin_group, cell, cells_.sum(i, kValue),
            cells_.measures > kSquares ? cells_.sum(i, kSquares) : 0);
      }
    }
  }

 private:
  struct Part {
    uint32_t unit = 0;
    uint32_t origin_group = 0;
    auto operator<=>(const Part&) const = default;
  };

  store::AggregateRequest request_;
  std::vector<Part> parts_;  // by group of origins
  store::Cells cells_;
};

}  // namespace plimsoll::query
