// The machines behind a selection as the units that chance has dealt with: each machine once for each draw that it was in.
#pragma once

#include <cstdint>
#include <vector>

#include "query/snapshot/snapshot.h"
#include "query/statistics/design.h"
#include "store/rows/aggregation.h"

namespace plimsoll::query {

// Immutable; borrows nothing. Machines that were not drawn (continuous collection, --once) are one unit each, of one stratum,
// with unknown probabilities; so is, with its draw's stratum, one whose profiles of a draw say different probabilities.
class MachineSample {
 public:
  // Of the origins and events that the filter selects, those where one of the events ran: a machine without a sample counts too.
  MachineSample(const Snapshot& snapshot, const store::RowFilter& filter);

  size_t units() const { return machines_.size(); }
  // By origin; kNone: of an origin that is not selected.
  static constexpr uint32_t kNone = UINT32_MAX;
  const std::vector<uint32_t>& unit_of_origin() const { return unit_of_origin_; }
  // By unit. Strata are in such an order that the same part of the fleet in successive draws stands side by side.
  const std::vector<statistics::SampledMachine>& machines() const { return machines_; }
  // By unit: numbers of an OriginIndex. A part is a stratum whatever the draw.
  const std::vector<uint32_t>& machine_of_unit() const { return machine_of_unit_; }
  const std::vector<uint32_t>& part_of_unit() const { return part_of_unit_; }

  // By unit, of values by origin.
  std::vector<double> sums(const std::vector<double>& by_origin) const;

 private:
  std::vector<uint32_t> unit_of_origin_;
  std::vector<statistics::SampledMachine> machines_;
  std::vector<uint32_t> machine_of_unit_;
  std::vector<uint32_t> part_of_unit_;
};

}  // namespace plimsoll::query
