// Rows of several events at once, of those profiles alone that have all of them: what a ratio is made of, and events side by
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "query/rows/grouping.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// One thread. Events are called by their places among those that were asked for.
class EventRows {
 public:
  // Of a selection whose own event is ignored. `events`: IDs of dictionary entries, at least one and none twice. Borrows the
  // dimensions and the snapshot.
  EventRows(const Selection& selection, const std::vector<uint32_t>& events, std::span<const Dimension> by,
            const Snapshot& snapshot);

  // Leaves the first `limit` rows by the self of the event `ranking`, then by name, of those that any of the events has self of. The
  // coverage is then of the samples of all events, and of what lacks symbols in that one. One pass over the rows.
  Status sum(size_t ranking, size_t limit);

  // What each machine brought to the rows that sum() left. Another pass; kTooLarge as sample_rows() says.
  Result<PerMachineRows> sample(const MachineSample& sample);

  const ResolvedSelection& resolved() const { return resolved_; }
  // The notes are then empty.
  std::vector<std::string> take_notes() { return std::move(resolved_.notes); }
  const Grouping& grouping() const { return grouping_; }
  size_t events() const { return events_; }
  const SummedRows& rows() const { return rows_; }
  // Of all that was selected.
  double whole(size_t event) const { return whole_[event]; }

 private:
  const Selection& selection_;
  const size_t events_;
  const Snapshot& snapshot_;
  ResolvedSelection resolved_;
  Grouping grouping_;
  SummedRows rows_;
  std::vector<double> whole_;
};

}  // namespace plimsoll::query
