// What a plan of events asks of a machine: which events it has, and whether they open.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/events/event_catalogue.h"

namespace plimsoll {

// Tests have machines of their own. Each trial costs a few system calls.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // As EventCatalogue::find().
  virtual Result<perf::EventType> find(std::string_view name) const = 0;
  // Whether an event of one code can be sampled, or counted.
  virtual Status try_sampling(const perf::EventType& event) const = 0;
  virtual Status try_counting(const perf::EventType& event) const = 0;
  // Whether it can be sampled twice over in one group, as Sampler does for stacks with a part of the samples.
  virtual Status try_sampling_twice(const perf::EventType& event) const = 0;
  // Whether samples of it can have branches (perf::branch_sampling_attr()).
  virtual Status try_branches(const perf::EventType& event) const = 0;
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
  Status try_sampling_twice(const perf::EventType& event) const override;
  Status try_branches(const perf::EventType& event) const override;
  Result<double> rate_of(const perf::EventType& event) const override;
  const perf::EventCatalogue& catalogue() const { return catalogue_; }

 private:
  perf::EventCatalogue catalogue_;
};

// Whether a machine that allows these events (limits.events; none: all) allows that one: names are compared, the spelling of
// generic ones aside.
bool is_allowed(std::string_view name, std::span<const std::string> allowed);

// The same event with one of its codes.
perf::EventType with_one_code(const perf::EventType& event, const perf::EventCode& code);

// The codes of the event that open on this machine, where at least one does; `note` says which do not. kUnsupported where none
// does, other errors as they come.
Result<perf::EventType> sampleable_part(const perf::EventType& event, const EventSource& machine,
                                        std::string& note);

// The event whose samples have the branches before them, in user mode, as an event of its own: kBranchStacks, with those codes of
// `cycles` that open with branches here. kUnsupported where none does; the error says why.
inline constexpr std::string_view kBranchStacks = "branch-stacks";
Result<perf::EventType> branch_stacks(const EventSource& machine);

}  // namespace plimsoll
