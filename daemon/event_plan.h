// Which events a collector samples and which it counts, for an assignment on this machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/event_source.h"
#include "daemon/sampling/sampler.h"
#include "proto/profile.pb.h"

namespace plimsoll {

struct PlannedEvent {
  perf::SampledEvent sampled;
  std::string requested_name;
  std::string note;  // what a reader should know of it
  bool is_companion =
      false;  // it came along without being asked for, or may have no samples for other reasons
  // Samples a second that its period follows from window to window, as far as `min_period`; 0: its period remains.
  double followed_rate_hz = 0;
  uint64_t min_period = 1;
};

struct EventPlan {
  std::vector<PlannedEvent> events;  // sampled
  std::vector<perf::EventType>
      counted;  // that their PMUs count without being able to sample (machine_counters.h)
  // Made of switches (daemon/waits), by name; what they are made of is among `events`: `context-switches` with stacks,
  // `lock:contention_begin`, `cpu-clock`.
  std::vector<std::string> waits;
  double switches_per_second = 0;  // on the busiest CPU, where `waits` has any
  std::vector<wire::MissingEvent> missing;
  std::vector<std::string> notes;
};

// Tries each event once. `assignment` has all its defaults; `allowed` are the names of the events that this machine permits,
// none: all. Fails where none of the events can be measured, and says why.
//
// Without events asked for: cycles and instructions, or cpu-clock in place of cycles where they cannot be had. Context switches
// and migrations come along always, in few samples without stacks, unless they are asked for or not allowed. With branch_rate_hz, so do
// branch stacks (kBranchStacks) where the machine records them.
Result<EventPlan> plan_events(const wire::Assignment& assignment, std::span<const std::string> allowed,
                              const EventSource& machine);

// How many sets of events take turns: 1 where all are collected at once.
size_t count_sets(const EventPlan& plan);

// How long a turn of one set lasts: as the assignment says, or a second; but short enough for each to have several within a
// window.
int64_t turn_ns(const wire::Assignment& assignment, const EventPlan& plan);

wire::Unit wire_unit(perf::EventUnit unit);

// The planned events as a profile's, without what was counted; each sample stands for `slowdown` times the plan's period.
void describe_events(const EventPlan& plan, uint32_t slowdown, wire::RawProfile& profile);

// What was counted of each (Sampler::take_counts), and when it was counted for a part of the window, or never.
void write_counts(const EventPlan& plan, std::span<const perf::EventCounts> counts,
                  wire::RawProfile& profile);

// Says of the finished profile's planned events, which are its first, which were counted and never sampled.
void remark_on_hits(const EventPlan& plan, wire::RawProfile& profile);

// Sets the periods of events that follow a rate by how often they happened in the last window. Between windows only.
void follow_rates(std::span<const perf::EventCounts> counts, EventPlan& plan, perf::Sampler& sampler);

}  // namespace plimsoll
