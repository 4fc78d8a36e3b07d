// The machines behind a selection as the units that chance has dealt with: each machine once for each draw that it was in.
#pragma once

#include <cstdint>
#include <vector>

#include "query/snapshot/snapshot.h"
#include "statistics/design.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// Origins in numbered units.
struct OriginUnits {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> of_origin;  // kNone: in none of them
  size_t count = 0;

  // By unit, of values by origin.
  std::vector<double> sums(const std::vector<double>& by_origin) const;
};

// Immutable; borrows nothing. Machines that were not drawn (continuous collection, --once) are one unit each, of one stratum,
// with unknown probabilities; so is, with its draw's stratum, one whose profiles of a draw say different probabilities.
class MachineSample {
 public:
  // Of the origins and events that the filter selects, those where one of the events ran: a machine without a sample counts too.
  MachineSample(const Snapshot& snapshot, const store::RowFilter& filter);

  static constexpr uint32_t kNone = OriginUnits::kNone;
  size_t sampling_units() const { return sampling_units_of_origins_.count; }
  // kNone: of an origin that is not selected.
  const OriginUnits& sampling_units_of_origins() const { return sampling_units_of_origins_; }
  const std::vector<uint32_t>& unit_of_origin() const { return sampling_units_of_origins_.of_origin; }
  // Each machine as one unit, whatever draws it was in: numbers of an OriginIndex.
  OriginUnits machines_of_origins() const;
  // By unit. Strata are in such an order that the same part of the fleet in successive draws stands side by side.
  const std::vector<statistics::SampledMachine>& machines() const { return machines_; }
  // By machine, as machines_of_origins() numbers them: its stratum whatever the draw; of several, that of the first draw it was in.
  const std::vector<uint32_t>& part_of_machine() const { return part_of_machine_; }

 private:
  OriginUnits sampling_units_of_origins_;
  std::vector<statistics::SampledMachine> machines_;
  std::vector<uint32_t> machine_of_unit_;
  std::vector<uint32_t> part_of_machine_;
};

}  // namespace plimsoll::query
