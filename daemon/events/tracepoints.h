// Tracepoints, as the tracing file system lists them. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/events/event_names.h"

namespace plimsoll::perf {

// Where the tracing file system is mounted: SYSFS/kernel/tracing or SYSFS/kernel/debug/tracing. The error says that it is not
// (kUnsupported), or may not be read (kDenied), and what to do.
Result<std::string> find_tracefs(const std::string& sysfs);

// The number that stands for it in perf_event_attr.config: the file events/SYSTEM/EVENT/id.
Result<uint64_t> tracepoint_id(const std::string& tracefs, const TracepointName& name);

// How many systems have tracepoints.
size_t count_tracepoint_systems(const std::string& tracefs);

}  // namespace plimsoll::perf
