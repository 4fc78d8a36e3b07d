// The CPU time of each instance over a window, from the control groups' own accounting: the event "cpu-time".
#pragma once

#include "daemon/machine/census.h"
#include "daemon/window_counts/window_counts.h"

namespace plimsoll {

inline constexpr std::string_view kCpuTimeEvent = "cpu-time";

// Two censuses a window. Instances are named as those of samples are; what no instance had is
// the machine's own (identity::kUngroupedJob), so that the sum is what the machine was busy.
class CpuTimeCounts : public WindowCounts {
 public:
  // Borrows `proc_fs`. Without `rules` instances are called as workload_of() says. `mounts` is where control groups are
  // mounted.
  CpuTimeCounts(const identity::ProcFs& proc_fs, std::shared_ptr<const identity::JobRules> rules,
                std::string mounts = "/sys/fs/cgroup");

  void start() override;
  void add_to(wire::RawProfile& profile, ProfileBuilder& builder) override;

 private:
  identity::Census census_;
  Result<identity::CensusTaken> at_start_;
};

}  // namespace plimsoll
