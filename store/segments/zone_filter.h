// A filter as chunks are passed over by it.
#pragma once

#include <cstdint>
#include <vector>

#include "store/model/aggregation.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// Making one costs a pass over the filter's flags, and 4 bytes for each; a chunk then costs the same however wide its zones are.
class ZoneFilter {
 public:
  explicit ZoneFilter(const RowFilter& filter);

  // Whether any row of a chunk may be selected.
  bool may_hold(const ChunkZones& zones) const;

 private:
  class Flags {
   public:
    Flags() = default;
    explicit Flags(const std::vector<bool>& flags);
    bool may_hold(Zone zone) const;

   private:
    std::vector<uint32_t>
        selected_below_;  // by ID, up to the one behind the last flag; empty: all are selected
  };

  ByColumn<Flags> flags_;
};

}  // namespace plimsoll::store
