// A filter as chunks are passed over by it.
#pragma once

#include <utility>

#include "store/model/aggregation.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// By the ranges of the filter's sets, which it shares; a chunk costs a search in them, however wide its zones are.
class ZoneFilter {
 public:
  explicit ZoneFilter(RowFilter filter) : filter_(std::move(filter)) {}

  // Whether any row of a chunk may be selected.
  bool may_hold(const ChunkZones& zones) const;

 private:
  RowFilter filter_;
};

}  // namespace plimsoll::store
