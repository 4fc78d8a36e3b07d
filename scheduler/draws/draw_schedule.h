// When draws are made, and when and what each of them measures: a sequence that follows from the policy alone, so that it is the same after
// every restart. docs/scheduling.md says why it is as it is.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::scheduler {

struct DrawTiming {
  std::string name = "fleet";  // of the policy, in the draws' IDs: letters, digits and dashes
  int64_t interval_ns = 0;     // one draw for each, counted from 1970
  int64_t window_ns = 0;       // that drawn machines measure for; within the interval
  int64_t lead_ns =
      0;  // that a draw is made before its interval, so that heartbeats can bring it to the machines in time
  size_t event_sets = 1;  // that take turns over draws
  uint64_t seed = 0;      // of all that is left to chance
};

struct ScheduledDraw {
  int64_t number = 0;             // of its interval
  std::string id;                 // "fleet-2026-11-23T06:00:00Z": the interval's start
  uint64_t seed = 0;              // for DrawPlan::draw()
  uint64_t turns_seed = 0;        // for who measures first, where not all may at once
  int64_t interval_start_ns = 0;  // wall clock, as all of these
  int64_t made_ns = 0;
  // Of the window in which all machines measure that may at once: anywhere within the interval, each place as likely as any other.
  int64_t window_start_ns = 0;
  size_t event_set = 0;

  bool operator==(const ScheduledDraw&) const = default;
};

// Immutable.
class DrawSchedule {
 public:
  // kInvalid, with the field, where a length is out of its bounds or the name has other characters.
  static Result<DrawSchedule> make(DrawTiming timing);

  // The draw of an interval, by its number.
  ScheduledDraw draw(int64_t number) const;
  // The newest that has been made at that time.
  ScheduledDraw newest(int64_t now_ns) const;
  // For DrawPlan::draw(), of an order that comes at that time.
  uint64_t seed_of_order(int64_t now_ns) const;

 private:
  explicit DrawSchedule(DrawTiming timing) : timing_(std::move(timing)) {}
  size_t event_set(int64_t number) const;

  DrawTiming timing_;
};

}  // namespace plimsoll::scheduler
