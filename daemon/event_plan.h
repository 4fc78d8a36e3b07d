// Which events a collector samples, for an assignment on this machine.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/perf/sampler.h"
#include "proto/profile.pb.h"

namespace plimsoll {

struct PlannedEvent {
  perf::SampledEvent sampled;
  std::string requested_name;
  std::string note;  // what a reader should know of it
};

struct EventPlan {
  std::vector<PlannedEvent> events;  // at least one
  std::vector<wire::MissingEvent> missing;
  std::vector<std::string> notes;
};

// Tries each event once. `assignment` has all its defaults. Fails where none of the events can be measured, and says why.
Result<EventPlan> plan_events(const wire::Assignment& assignment);

// The planned events as a profile's, without what was counted.
void describe_events(const EventPlan& plan, wire::RawProfile& profile);

}  // namespace plimsoll
