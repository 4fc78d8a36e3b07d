// What is drawn, how often, and what drawn machines are told to collect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "scheduler/draws/draw_plan.h"
#include "scheduler/draws/draw_schedule.h"
#include "scheduler/draws/population.h"
#include "scheduler/draws/stratification.h"
#include "scheduler/safety/limited_groups.h"

namespace plimsoll::scheduler {

// Between two windows in which not the same may be measured: what machines' clocks differ by after they were corrected, and more.
inline constexpr int64_t kMinGapNs = int64_t{500'000'000};

struct DrawSettings {
  int64_t interval_ns = 0;    // between draws
  int64_t window_ns = 0;      // that drawn machines measure for
  int64_t late_after_ns = 0;  // after the window, in which profiles come in time
  int64_t heartbeat_ns = 0;   // interval of heartbeats
  int64_t cooldown_ns = 0;    // minimum time between two draws of a machine
  DrawSize size;
  SafetyLimits safety;
  std::vector<std::string> strata;  // attributes of machines, as in Stratification
  // Names of events that are collected together, which take turns; none: the daemon's default event, always.
  std::vector<std::vector<std::string>> event_sets;
  wire::Assignment collects;  // rate, stacks and bursts
};

// Settings that make sense together. Immutable; any thread.
class DrawPolicy {
 public:
  // `seed`: of all that is left to chance. kInvalid, with the field, for settings that do not.
  static Result<DrawPolicy> make(DrawSettings settings, uint64_t seed);

  const DrawSettings& settings() const { return settings_; }
  const DrawSchedule& schedule() const { return schedule_; }
  const Stratification& stratification() const { return stratification_; }
  // So many draws make a round, in which each machine has one turn to be drawn.
  const Rotation& rotation() const { return rotation_; }
  uint32_t turn_of(const ScheduledDraw& draw) const;
  // What machines of a draw are to collect; without ID, start and draw.
  wire::Assignment assignment(const ScheduledDraw& draw) const;
  // When those may measure who cannot do so in the draw's own window, which is the first; the others follow it, then come before it, all
  // within the interval and apart from each other.
  std::vector<int64_t> turn_starts_ns(const ScheduledDraw& draw) const;
  // The lease of assignments: how long a machine without contact continues.
  int64_t lease_ns() const;
  // "every 10m for 10s: 10 % of each stratum by platform, 2 at least; ..."
  std::string text() const;

 private:
  DrawPolicy(DrawSettings settings, DrawSchedule schedule, Stratification stratification, uint64_t seed);

  DrawSettings settings_;
  DrawSchedule schedule_;
  Stratification stratification_;
  Rotation rotation_;
};

}  // namespace plimsoll::scheduler
