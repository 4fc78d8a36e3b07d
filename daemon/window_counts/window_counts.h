// What is counted over a whole window rather than sampled: CPU time of instances, energy of the machine.
#pragma once

#include "capture/profile/profile_builder.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// One thread, the collecting one. Counts are rows without a stack: an event of their own, whose hits are its value (in the
// event's unit, scale 1), of a thread that stands for an instance (process with job and instance, thread 0) or for the
// machine.
class WindowCounts {
 public:
  virtual ~WindowCounts() = default;

  // The window opens: remembers where the counters stand.
  virtual void start() = 0;

  // The window is closed: appends its events to the profile's, and their counts to the builder (add_count). Whatever could not be
  // counted is said in the profile's missing_events or notes.
  virtual void add_to(wire::RawProfile& profile, ProfileBuilder& builder) = 0;
};

}  // namespace plimsoll
