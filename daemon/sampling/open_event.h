// Opening and reading one perf event on one CPU: perf_event_open(2). Any thread.
#pragma once

#include <linux/perf_event.h>

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/perf/records.h"

namespace plimsoll::perf {

// Whether samples tell control groups here (CONFIG_CGROUP_PERF). Opens an event of this process, once in a program.
bool samples_tell_cgroups();

// A kernel whose samples tell no control groups opens the event without them. `leader_fd` names the event that it is to be counted together with: at all the same times; -1: none. The error names the
// event and the missing privilege.
Result<UniqueFd> open_event(const perf_event_attr& attr, int cpu, std::string_view name, int leader_fd = -1);

// Counts for a control group and all below it, whose folder `group` is in the hierarchy that perf events belong to.
Result<UniqueFd> open_group_event(const perf_event_attr& attr, const UniqueFd& group, int cpu,
                                  std::string_view name);

Result<CounterValues> read_counter(const UniqueFd& fd);

}  // namespace plimsoll::perf
