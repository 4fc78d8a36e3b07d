// The performance monitoring units of a machine, as /sys/bus/event_source/devices lists them.
//
// Reads small files on every call; any thread. Sources: Linux, Documentation/ABI/testing/sysfs-bus-event_source-devices*.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/events/event_type.h"

namespace plimsoll::perf {

struct Pmu {
  std::string name;
  std::string folder;
  uint32_t type = 0;             // what perf_event_attr.type says for it
  std::vector<int> cpus;         // that it counts; empty: all of them
  bool is_core = false;          // it counts what a CPU's own program does; two of them: two kinds of cores
  bool is_for_packages = false;  // it counts for the package of a CPU, and is to be asked on `cpus` alone
};

// Sorted by name. The error says that the folder cannot be read; PMUs whose files are not as the kernel writes them are left
// out.
Result<std::vector<Pmu>> list_pmus(const std::string& sysfs);

// The names in its events/ folder, sorted, without those of scales and units; at most 4,096.
std::vector<std::string> event_names(const Pmu& pmu);

// What "event=0x3c,umask=0x1,name=x" or "EVENT" means on the PMU: its code, and of a named event the scale and unit that
// sysfs gives it. The name is `name=`, or else empty. The error names the terms that there are.
Result<EventType> encode_terms(const Pmu& pmu, std::string_view text);

}  // namespace plimsoll::perf
