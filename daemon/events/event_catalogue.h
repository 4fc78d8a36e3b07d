// What an event's name means on one machine: which numbers the kernel is to be asked for, on which CPUs.
//
//   const auto catalogue = EventCatalogue::of_this_machine();
//   const auto cycles = catalogue.find("cycles");  // on a hybrid machine a code for each kind of core
//
// The machine's files are read when it is made (PMUs) and when an event is looked up (terms, tracepoints), from a root of the
// caller's choosing, so that tests hand in machines as folders. Any thread, once made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/events/event_names.h"
#include "daemon/events/pmu.h"

namespace plimsoll::perf {

struct EventSources {
  std::string sysfs = "/sys";
  std::string cpuinfo;  // the text of /proc/cpuinfo
};

class EventCatalogue {
 public:
  static EventCatalogue of_this_machine();
  explicit EventCatalogue(const EventSources& sources);

  // Errors: kInvalid for a name that is wrong anywhere, with the nearest one; kUnsupported where this machine lacks the PMU,
  // its format or the tracing file system, and says what was looked for where; kDenied with the capability that is missing.
  Result<EventType> find(std::string_view name) const;

  const std::vector<Pmu>& pmus() const { return pmus_; }
  const std::string& sysfs() const { return sysfs_; }
  // Two kinds of cores, of one vendor's design: Intel's. Arm's clusters are told by their cores' names.
  bool is_hybrid() const;

 private:
  std::vector<const Pmu*> core_pmus() const;
  Result<EventType> find_generic(EventType event) const;
  Result<EventType> find_pmu_event(std::string_view name) const;
  Result<EventType> find_alias(std::string_view name) const;
  Result<EventType> find_raw(std::string_view name, uint64_t code) const;
  Result<EventType> find_tracepoint(std::string_view name, const TracepointName& tracepoint) const;
  // Names the PMUs that there are.
  std::unexpected<Error> no_pmu(std::string_view event, std::string_view wanted) const;

  std::string sysfs_;
  bool pmus_are_known_ = false;  // the folder could be read
  std::vector<Pmu> pmus_;
  std::string generation_;
};

}  // namespace plimsoll::perf
