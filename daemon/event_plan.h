// Which events a collector samples and which it counts, for an assignment on this machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/perf/event_catalogue.h"
#include "daemon/perf/sampler.h"
#include "proto/profile.pb.h"

namespace plimsoll {

struct PlannedEvent {
  perf::SampledEvent sampled;
  std::string requested_name;
  std::string note;           // what a reader should know of it
  bool is_companion = false;  // it came along without being asked for
  // Samples a second that its period follows from window to window, as far as `least_period`; 0: its period remains.
  double followed_rate_hz = 0;
  uint64_t least_period = 1;
};

struct EventPlan {
  std::vector<PlannedEvent> events;  // sampled
  std::vector<perf::EventType>
      counted;  // that their PMUs count without being able to sample (machine_counters.h)
  std::vector<wire::MissingEvent> missing;
  std::vector<std::string> notes;
};

// What a plan asks of a machine: which events it has, and whether they open. Tests have machines of their own.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // As EventCatalogue::find().
  virtual Result<perf::EventType> find(std::string_view name) const = 0;
  // Whether an event of one code can be sampled, or counted.
  virtual Status try_sampling(const perf::EventType& event) const = 0;
  virtual Status try_counting(const perf::EventType& event) const = 0;
  // Occurrences a second on the busiest CPU; takes a tenth of a second.
  virtual Result<double> rate_of(const perf::EventType& event) const = 0;
};

// This machine. Looks up its PMUs when made.
class LiveEvents : public EventSource {
 public:
  LiveEvents() : catalogue_(perf::EventCatalogue::of_this_machine()) {}
  Result<perf::EventType> find(std::string_view name) const override { return catalogue_.find(name); }
  Status try_sampling(const perf::EventType& event) const override;
  Status try_counting(const perf::EventType& event) const override;
  Result<double> rate_of(const perf::EventType& event) const override;
  const perf::EventCatalogue& catalogue() const { return catalogue_; }

 private:
  perf::EventCatalogue catalogue_;
};

// Tries each event once. `assignment` has all its defaults; `allowed` are the names of the events that this machine permits,
// none: all. Fails where none of the events can be measured, and says why.
//
// Without events asked for: cycles and instructions, or cpu-clock in place of cycles where they cannot be had. Context switches
// and migrations come along always, in few samples without stacks, unless they are asked for or not allowed.
Result<EventPlan> plan_events(const wire::Assignment& assignment, std::span<const std::string> allowed,
                              const EventSource& machine);

// The codes of the event that open on this machine, where at least one does; `note` says which do not. kUnsupported where none
// does, other errors as they come.
Result<perf::EventType> sampleable_part(const perf::EventType& event, const EventSource& machine,
                                        std::string& note);

// How many sets of events take turns: 1 where all are collected at once.
size_t count_sets(const EventPlan& plan);

// How long a turn of one set lasts: as the assignment says, or a second; but short enough for each to have several within a
// window.
int64_t turn_ns(const wire::Assignment& assignment, const EventPlan& plan);

wire::Unit wire_unit(perf::EventUnit unit);

// The planned events as a profile's, without what was counted.
void describe_events(const EventPlan& plan, wire::RawProfile& profile);

// Says of each event of the profile, counts included, when it was counted for a part of the window, or never.
void remark_on_times(const EventPlan& plan, wire::RawProfile& profile);

// Says of the finished profile's planned events, which are its first, which were counted and never sampled.
void remark_on_hits(const EventPlan& plan, wire::RawProfile& profile);

// Sets the periods of events that follow a rate by how often they happened in the last window (Sampler::busiest_rates).
// Between windows only.
void follow_rates(std::span<const double> per_second, EventPlan& plan, perf::Sampler& sampler);

}  // namespace plimsoll
