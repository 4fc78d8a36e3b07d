// What a profile says of its events besides what was counted.
#include <fmt/format.h>

#include "daemon/event_plan.h"

namespace plimsoll {
namespace {

// A little time passes between enabling an event and its first count.
constexpr double kWholeWindow = 0.99;
// Between CPUs; what is less is within the error of a profile.
constexpr double kUneven = 0.05;

void add_note(const std::string& note, wire::Event& event) {
  event.set_note(event.note().empty() ? note : event.note() + "; " + note);
}

void remark_on_times(const perf::EventCounts& counts, bool has_turns, wire::Event& event,
                     wire::RawProfile& profile) {
  if (counts.time_enabled_ns == 0) {
    return;
  }
  if (counts.time_running_ns == 0) {
    wire::MissingEvent& missing = *profile.add_missing_events();
    missing.set_name(event.name());
    missing.set_reason(has_turns
                           ? "its counter never ran in this window: the window ended before the turn of its "
                             "event set, or other users had the CPU's counters"
                           : "its counter never ran in this window: other users had the CPU's counters");
    add_note("never counted in this window", event);
    return;
  }
  const double share =
      static_cast<double>(counts.time_running_ns) / static_cast<double>(counts.time_enabled_ns);
  if (share < kWholeWindow) {
    add_note(fmt::format("counted for {:.0f} % of the window ({}), and scaled to all of it", share * 100,
                         has_turns ? "sets of events take turns" : "there are fewer counters than events"),
             event);
  }
  if (counts.max_share - counts.min_share > kUneven) {
    add_note(fmt::format("its counters ran for {:.0f} % of the time on one CPU and {:.0f} % on another: code "
                         "on the former is underrepresented in the samples",
                         counts.min_share * 100, counts.max_share * 100),
             event);
  }
}

}  // namespace

wire::Unit wire_unit(perf::EventUnit unit) {
  switch (unit) {
    case perf::EventUnit::kCount:
      return wire::COUNT;
    case perf::EventUnit::kNanoseconds:
      return wire::NANOSECONDS;
    case perf::EventUnit::kBytes:
      return wire::BYTES;
    case perf::EventUnit::kMicrojoules:
      return wire::MICROJOULES;
  }
  return wire::COUNT;
}

void describe_events(const EventPlan& plan, uint32_t slowdown, wire::RawProfile& profile) {
  for (const PlannedEvent& planned : plan.events) {
    wire::Event& event = *profile.add_events();
    event.set_name(planned.sampled.type.name);
    event.set_requested_name(planned.requested_name);
    event.set_note(planned.note);
    event.set_unit(wire_unit(planned.sampled.type.unit));
    event.set_kind(wire::DELTA);
    event.set_mean_period(planned.sampled.mean_period * slowdown);
  }
  for (const wire::MissingEvent& missing : plan.missing) {
    *profile.add_missing_events() = missing;
  }
}

void write_counts(const EventPlan& plan, std::span<const perf::EventCounts> counts,
                  wire::RawProfile& profile) {
  const bool has_turns = count_sets(plan) > 1;
  for (size_t i = 0; i < counts.size(); ++i) {
    wire::Event& event = *profile.mutable_events(static_cast<int>(i));
    event.set_counter_total(static_cast<double>(counts[i].total));
    event.set_lost(counts[i].lost);
    event.set_ticks_due(counts[i].ticks_due);
    event.set_time_enabled_ns(static_cast<int64_t>(counts[i].time_enabled_ns));
    event.set_time_running_ns(counts[i].scaling_time_running_ns());
    remark_on_times(counts[i], has_turns, event, profile);
  }
}

void remark_on_hits(const EventPlan& plan, wire::RawProfile& profile) {
  for (size_t i = 0; i < plan.events.size(); ++i) {
    const PlannedEvent& planned = plan.events[i];
    wire::Event& event = *profile.mutable_events(static_cast<int>(i));
    // The clock of a CPU that idles goes on, and there is nothing to sample.
    const bool counts_idle_time = planned.sampled.type.is_clock;
    if (planned.is_companion || counts_idle_time || event.hits() + event.lost() > 0 ||
        event.counter_total() == 0) {
      continue;
    }
    wire::MissingEvent& missing = *profile.add_missing_events();
    missing.set_name(event.name());
    missing.set_reason(
        fmt::format("{:.0f} were counted and none was sampled, with a period of {}: use a shorter period or "
                    "a longer window",
                    event.counter_total(), event.mean_period()));
    add_note("counted, and never sampled, in this window", event);
  }
}

}  // namespace plimsoll
