// Counters of control groups, as the kernel has them (PERF_FLAG_PID_CGROUP) or a test.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/perf/records.h"
#include "daemon/events/event_type.h"

namespace plimsoll {

// Counts one event for one control group and those below it while it lives; each CPU's counter is enabled for as long as a
// process of theirs runs there.
class GroupCounter {
 public:
  virtual ~GroupCounter() = default;
  // Of each CPU that has the event, in the same order every time.
  virtual Result<std::vector<perf::CounterValues>> read() const = 0;
};

class GroupCounterSource {
 public:
  virtual ~GroupCounterSource() = default;
  // Those that are online now.
  virtual Result<std::vector<int>> cpus() const = 0;
  // How many file descriptors this process may have open, whatever for.
  virtual size_t max_open_files() const = 0;
  // On each of `cpus` that the event has a code for, a file descriptor each; on all of them, or it fails.
  virtual Result<std::unique_ptr<GroupCounter>> open(const std::string& folder, const perf::EventType& event,
                                                     std::span<const int> cpus) const = 0;
};

// This machine. Needs CAP_PERFMON, and a folder that may be read.
class PerfGroupCounters : public GroupCounterSource {
 public:
  Result<std::vector<int>> cpus() const override;
  size_t max_open_files() const override;
  Result<std::unique_ptr<GroupCounter>> open(const std::string& folder, const perf::EventType& event,
                                             std::span<const int> cpus) const override;
};

}  // namespace plimsoll
