// What a hit in a profile that is selected stands for in the fleet.
//
// Of events that add up over time: weight = 1 / inclusion probability x interval / time observed, had every machine answered that was
// drawn; Snapshot::responses says by how much more it stands for where some have not. 1 for profiles that were not drawn. `time
// observed` is how long the machine, or the endpoint of an application, was observed for the draw: the sum of its windows, since a daemon
// may split its time into several (docs/collecting.md).
//
// Snapshots are of moments, and their mean is shown: what was not drawn is divided by how many snapshots of the same things (series) are
// selected. Of draws each gives an estimate, sum of value / inclusion probability, and the mean of these is by the intervals of the draws,
// among them those in which no selected machine was drawn: it is unbiased, whatever the number of times that a machine was drawn.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// What an event has on each of some things, by number: sparse, since most events are of few of them. One thread.
template <typename Value>
class ByEvent {
 public:
  explicit ByEvent(size_t things) : things_(things) {}

  Value& of(uint32_t event, uint32_t thing) {
    std::vector<Value>& values = values_[event];
    values.resize(things_);
    return values[thing];
  }

 private:
  size_t things_;
  std::map<uint32_t, std::vector<Value>> values_;
};

// The weight of a profile that was not drawn, or of events that add up, by how long the thing was observed for the draw.
double weight_of(const store::OriginEntry& origin, int64_t observed_ns);

// One thread. Borrows the snapshot. The filter selects origins and events.
class Weights {
 public:
  // `of_its_draws`: flags of the origins of the selected time and draws (ResolvedSelection).
  Weights(const Snapshot& snapshot, const store::RowFilter& filter, const std::vector<bool>& of_its_draws);

  double of(const store::OriginEventEntry& entry);
  // How much of the machines' time the profile stands for, in ns; a snapshot, of the machines.
  double exposure(const store::OriginEventEntry& entry);

 private:
  bool is_snapshot(const store::OriginEventEntry& entry) const;
  double of_snapshot(const store::OriginEventEntry& entry);
  double of_time(const store::OriginEventEntry& entry);
  int64_t window_ns(const store::OriginEventEntry& entry) const;
  void count_snapshots(const store::RowFilter& filter);
  void add_up_intervals(const store::RowFilter& filter, const std::vector<bool>& of_its_draws);
  // Of each machine that is selected, for each event: in windows in which its counter ran, whether they are selected or not.
  void add_up_times(const store::RowFilter& filter);

  const Snapshot& snapshot_;
  ByEvent<uint64_t> snapshots_;              // by event and observed thing
  ByEvent<int64_t> times_ns_;                // of draws, by event and observed thing
  std::map<uint32_t, double> intervals_ns_;  // of all draws, by event
};

}  // namespace plimsoll::query
