// Which event a name means.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

struct FoundEvent {
  uint32_t id = 0;  // of the dictionary
  // Which others there are, where the name does not say which one is meant; by which name it was found.
  std::string note;
};

// The event of that name; else the only one whose name is that with perf's modifiers; else, of those that are that on
// one kind of a machine's cores each ("cpu_core/cycles/"), the one with the most samples. Empty: what answers to
// "cycles", else cpu-clock, else the event with the most samples that is not of branch records. An event that was
// renamed is found by either name. Of an empty name, or of several kinds of cores, costs a pass over the profiles'
// events. kNotFound where there is none; the hint says which there are.
Result<FoundEvent> find_event(const std::string& name, const Snapshot& snapshot);

}  // namespace plimsoll::query
