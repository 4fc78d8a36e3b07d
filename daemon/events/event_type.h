// What is known of an event, and what the kernel is asked for to have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::perf {

enum class EventUnit { kCount, kNanoseconds, kBytes, kMicrojoules };

// What an event is asked for with on some CPUs: the fields of perf_event_attr with these names.
struct EventCode {
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t config1 = 0;
  uint64_t config2 = 0;
  std::vector<int> cpus = {};  // where it can be opened; empty: on every CPU
  std::string pmu = {};        // that counts it ("cpu_core"); empty: whichever the kernel finds

  bool operator==(const EventCode&) const = default;
};

// An event that can be asked for by name: what holds on every machine.
struct EventTraits {
  std::string name;
  EventUnit unit = EventUnit::kCount;
  // How many happen in a second on one busy CPU, roughly: a sampling rate becomes a period by it. Only the
  // number of samples depends on it, never a result, since results are scaled by the counter's own total.
  double nominal_per_second = 0;
  // A clock goes on while a CPU has nothing to do; its samples leave idle time out.
  bool is_clock = false;
  // nominal_per_second is but the most there may be: count for a while before choosing a period (event_rate.h).
  bool has_unknown_rate = false;
};

// The same on one machine. On one with two kinds of cores it has a code for each, and is one event all the same: its
// counters add up.
struct EventType : EventTraits {
  std::vector<EventCode> codes;  // at least one; no CPU has two
  // Counted for a whole package or the like, on a few CPUs that stand for it (a PMU with a `cpumask`): never sampled.
  bool is_for_packages = false;
  // What a name that stands for different codes is on this machine, in words; empty: what it is everywhere.
  std::string definition = {};
  double scale = 1;  // of one count, in `unit`; not 1 only with events that sysfs gives a scale
};

// The event's code on that CPU; null where the CPU does not have the event.
const EventCode* code_on(const EventType& event, int cpu);

}  // namespace plimsoll::perf
