// What an event's counters, one on each CPU, say of a stretch of time together.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll::perf {

// One counter over a stretch of time.
struct CounterDelta {
  uint64_t value = 0;
  uint64_t time_enabled_ns = 0;  // the turns of other sets included
  uint64_t time_running_ns = 0;  // less than enabled where others held the CPU's counters meanwhile
};

struct EventCounts {
  uint64_t total = 0;            // as counted
  uint64_t time_enabled_ns = 0;  // summed over CPUs
  uint64_t time_running_ns = 0;
  uint64_t lost = 0;
  // Of a clock: how often its timer was due, whether the CPU had anything to do or not; 0 for other events. Idle
  // time is not sampled (exclude_idle), and where a CPU sleeps deeply its timer may not fire at all, so what was due
  // is computed from the periods that were set.
  uint64_t ticks_due = 0;
  // Each counter's total scaled by its own time enabled and running, summed; a counter that never ran passes for the mean of
  // the others. Equal to `total` where all ran all the time.
  double estimated_total = 0;
  // The part of the time that the counter with the shortest, and the longest, ran for.
  double min_share = 1;
  double max_share = 1;
  double busiest_per_second = 0;  // occurrences on the CPU where there were most, while its counter ran

  // The time that makes total x enabled / running the estimated total: time_running_ns where all counters ran equally long.
  int64_t scaling_time_running_ns() const;
};

// Without losses and ticks.
EventCounts sum_of(const std::vector<CounterDelta>& counters);

}  // namespace plimsoll::perf
