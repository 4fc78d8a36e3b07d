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

// One thread.
class UnitCells {
 public:
  // Of a request whose measures are kValue and, where squares are wanted, kSquares. Its groups of origins, where it has any, are kept
  // apart by unit. Borrows the units.
  UnitCells(store::AggregateRequest request, const OriginUnits& sampling_units);

  // One pass over the stored rows.
  Status sum(const store::RowSource& rows);

  // Calls use(unit, origin_group, cell, value, squares) with each cell, whose own group of origins says nothing; units ascend, and
  // of one unit the cells do. What its request has no groups for is 0.
  template <typename Use>
  void for_each(const Use& use) const {
    for (size_t i = 0; i < cells_.size(); ++i) {
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
