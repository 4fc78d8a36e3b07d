// What a view is about: an event, a time range and filters; and what that means for the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/selection/predicate.h"
#include "query/snapshot/hidden_frames.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

struct Selection {
  std::string event;  // empty: what answers to cycles, else cpu-clock, else the one with the most samples
                      // that is not of branch records
  // Wall clock. A profile is of the time that the middle of its window is in (is_about()), and so of one of two times that meet.
  int64_t since_ns = INT64_MIN;
  int64_t until_ns = INT64_MAX;
  // Profiles of draws by order (store::is_by_order) are selected where one of these asks for draws.
  std::vector<Predicate> where;
  // Frames that any of these matches (of frames, and not negated) are left out of all stacks, after `where` has looked at them; stacks of
  // which nothing is left are not selected.
  std::vector<Predicate> hide;
  // Nothing is hidden that `hide` does not name (hidden_frames()): for `hide` none, and for other people's tools, which hide by themselves.
  bool hides_only_named = false;

  bool is_about(int64_t middle_ns) const;  // of a profile's window
};

// What `hide` leaves out. Where it is empty, and the event is one of a heap: the frames of the allocator, as pprof has it, which
// are the same wherever memory is asked for. Absent where that is nothing. Costs a pass over locations and stacks.
std::shared_ptr<const HiddenFrames> hidden_frames(const Selection& selection, const Snapshot& snapshot);

// The sums that a resolved selection asks for, as measures of its request.
inline constexpr size_t kValue = 0;    // in the event's unit
inline constexpr size_t kSamples = 1;  // behind it

// A selection applied to a snapshot: the filters of an AggregateRequest and its factors. The coverage has everything
// but the share without symbols.
struct ResolvedSelection {
  uint32_t event = 0;
  store::AggregateRequest request;
  // Flags by origin: of the selected time and draws, whatever else was asked for. Of what a snapshot's mean is (Weights).
  std::vector<bool> of_its_draws;
  Coverage coverage;
  std::vector<std::string> notes;
};

// kNotFound where the snapshot has no such event; the message says which there are.
Result<ResolvedSelection> resolve(const Selection& selection, const Snapshot& snapshot);

// Several events at once (IDs of dictionary entries), of those profiles alone that have all of them; a note says how many of
// the others were left out. The selection's own event is ignored, and the coverage is of all of them.
ResolvedSelection resolve_together(const Selection& selection, const std::vector<uint32_t>& events,
                                   const Snapshot& snapshot);

// All rows there are: filters that let everything pass, the factors of all events, and the coverage of all of them.
ResolvedSelection resolve_all(const Snapshot& snapshot);

// `base`, with the origins of `other` besides; of one snapshot both.
store::RowFilter of_origins_of_either(const store::RowFilter& base, const store::RowFilter& other);

// Of each origin that is selected and in which the selection's event ran, how much of the machines' time it stands for, in ns: its window,
// weighted. Of snapshots, which stand for no time, how much of the machines.
std::vector<double> exposures(const ResolvedSelection& selection, const Snapshot& snapshot);

// "ns", "bytes" or "count", as the columns of a table call it.
std::string_view unit_name(wire::Unit unit);

}  // namespace plimsoll::query
