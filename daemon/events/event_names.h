// Events by name, as far as names tell by themselves: pure functions, any thread. What a name means on a machine is for
// event_catalogue.h to say.
//
//   cycles, llc-misses, cpu-clock, ...      the kernel's generic events, in our spelling or perf's (cache-misses, cs);
//                                           upper and lower case are the same
//   L1-dcache-load-misses, LLC-loads, ...   its cache events: perf-list(1), "hardware cache event"
//   PMU/event=0x3c,umask=0x1,name=x/        terms of /sys/bus/event_source/devices/PMU/format
//   PMU/EVENT/                              an event of /sys/bus/event_source/devices/PMU/events
//   r01c2                                   raw, in hexadecimal, on the CPU's PMU
//   sched:sched_switch                      a tracepoint
//   uops-retired, dtlb-walks, ...           one name for what machines call differently (machine_aliases.h)
//   off-cpu-ns, runnable-ns, ...            time that threads wait, by switches (daemon/waits)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/events/event_type.h"

namespace plimsoll::perf {

// Generic hardware and software events, each with the kernel's own number for it; without the cache events.
std::span<const EventType> known_events();

// The generic or cache event of that name, as machines with one kind of cores have it. The error's hint names the nearest one.
Result<EventType> find_event(std::string_view name);

// One spelling for each name: "LLC-Load-Misses" -> "LLC-load-misses", "cs" -> "context-switches". A name of another kind
// remains as it is. Names that differ otherwise are different events for limits.events: "cycles" is not
// "cpu/event=0x3c/".
std::string canonical_name(std::string_view name);

// What an event's name alone tells of it, whatever its kind. The error says what is wrong with the name.
Result<EventTraits> describe_event(std::string_view name);

// Events that are made of switches between threads and of samples (daemon/waits): the kernel counts none of them.
inline constexpr std::string_view kOffCpuEvent = "off-cpu-ns";
inline constexpr std::string_view kRunnableEvent = "runnable-ns";
inline constexpr std::string_view kLockWaitEvent = "kernel-lock-wait-ns";
inline constexpr std::string_view kCpuLatencyEvent = "cpu-latency-ns";
bool is_wait_event(std::string_view name);

// How names look that are no generic event's.
bool is_pmu_event(std::string_view name);  // it has a '/'
std::optional<uint64_t> raw_code(std::string_view name);
struct TracepointName {
  std::string_view system;
  std::string_view event;
};
std::optional<TracepointName> tracepoint_name(std::string_view name);

// "NAME" or "NAME:PERIOD": the period follows the last colon, and is a number, which no tracepoint's name is. 0: none.
struct NameAndPeriod {
  std::string name;
  uint64_t period = 0;
};
Result<NameAndPeriod> split_period(std::string_view text);

// The names of "a,b,PMU/c,d/": separated by commas, but for those between slashes. Empty ones are left out.
std::vector<std::string> split_names(std::string_view text);

}  // namespace plimsoll::perf
