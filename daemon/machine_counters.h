// Events that are counted for the machine as a whole: of PMUs that count for packages (energy, memory controllers) or cannot
// sample.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/perf/records.h"
#include "daemon/events/event_type.h"
#include "daemon/window_counts/window_counts.h"

namespace plimsoll {

// An event's value in a window, that cannot be attributed.
struct MachineCount {
  std::string name;
  wire::Unit unit = wire::COUNT;
  double value = 0;
  int64_t time_enabled_ns = 0;  // sum over CPUs; 0: counted all the time
  int64_t time_running_ns = 0;
};

// Appends it as an event, and as one row of the job "[machine]". The profile's other events are there already.
void add_machine_count(const MachineCount& count, wire::RawProfile& profile, ProfileBuilder& builder);

// Opens its counters when it is made, which then count until it ends: on each CPU that an event has a code for. What cannot be
// opened, and what did not run in a window, is a missing event of each profile.
class MachineCounters : public WindowCounts {
 public:
  explicit MachineCounters(const std::vector<perf::EventType>& events);

  void start() override;
  void add_to(wire::RawProfile& profile, ProfileBuilder& builder) override;

 private:
  struct Counter {
    perf::EventType event;
    std::vector<UniqueFd> fds;
    std::string problem;  // why there is none; empty: there is
    Result<perf::CounterValues> at_start = perf::CounterValues{};
  };
  static Counter open(const perf::EventType& event);
  // Summed over CPUs.
  static Result<perf::CounterValues> read(const Counter& counter);

  std::vector<Counter> counters_;
};

}  // namespace plimsoll
