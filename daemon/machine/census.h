// What runs on this machine, with the CPU time that it may have and has had: the instances by their control groups.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/workload_namer.h"

namespace plimsoll::identity {

// What a group's name and job are when it is the machine itself: processes outside all other groups, kernel threads, and
// the time of groups that ended since the last census.
inline constexpr std::string_view kUngroupedJob = "[ungrouped]";
// What is left where a machine has more instances than a census names.
inline constexpr std::string_view kOtherInstances = "[others]";

struct InstanceUsage {
  std::string job;
  std::string instance;
  std::string container;
  std::string image;
  Environment labels;
  double quota_cpus = 0;    // the tightest of the group's and its ancestors'; 0: none
  double weight = 0;        // as cpu.weight has it (100 by default); 0: unknown
  int64_t cpu_time_ns = 0;  // since the previous census
  // What job and instance were made of: the path as samples have it.
  std::string cgroup;
  std::string executable;
  std::string comm;
};

struct CensusTaken {
  int64_t interval_ns = 0;  // since the previous census; 0: this is the first, and knows no times
  std::vector<InstanceUsage> instances;
};

struct CensusLimits {
  size_t max_groups = 10'000;  // visited; deeper and later ones count with those above them
  size_t max_depth = 32;
  // Named, those with the most CPU time; the rest is summed as kOtherInstances. A heartbeat must stay small.
  size_t max_instances = 2'000;
  size_t max_name_bytes = 512 << 10;
};

// An instance is a control group with processes of its own, named as its oldest process says: the one that started first, of
// those with the 64 lowest PIDs. Profiles call each process by the same rules, so that names agree where a group's processes
// have one name; where they have several, samples are told apart, and CPU time, which the kernel counts by group, is all the
// oldest's. A group whose processes are outside our PID namespace has their name (kOutsideComm).
//
// An instance's CPU time is its group's, less that of the instances below it, so that times add up to the root's. Groups whose
// processes rules give the same names are one instance, with image and labels of the first of them. A group that is seen for
// the first time after the first census began within the interval: all of its time counts. A counter that fell belongs to
// another group of that name, and starts again.
//
// Reads the unified hierarchy, or, where the CPU controller is not in it (hybrid layouts), v1's cpu and cpuacct. One thread.
// Costs four files a group and five for its oldest process, and where there are several, one for each of up to 64; nothing is
// kept but a counter for each group.
class Census {
 public:
  // `root` is where control groups are mounted. Without `rules` processes are called as workload_of() says.
  explicit Census(const ProcFs& proc_fs, std::string root = "/sys/fs/cgroup", CensusLimits limits = {},
                  std::shared_ptr<const JobRules> rules = nullptr);

  // kNotFound where the layout is not known. `now_ns` is monotonic.
  Result<CensusTaken> take(int64_t now_ns);

 private:
  struct Layout {
    std::string usage_root;  // folder of the hierarchy that counts CPU time
    std::string limit_root;  // of the one that limits it
    bool is_unified = false;
  };
  struct Walk;
  // The CPUs that a group may use, and the group that says so.
  struct Quota {
    double cpus = 0;  // 0: none
    std::string group = {};
  };

  std::optional<Layout> find_layout() const;
  std::optional<int64_t> usage_ns(const Layout& layout, const std::string& group) const;
  double quota_cpus(const Layout& layout, const std::string& group) const;
  double weight(const Layout& layout, const std::string& group) const;
  int64_t delta_ns(const std::string& group, int64_t usage_ns, Walk& walk) const;
  // Visits the group and those below it; gives the time that their instances have.
  int64_t visit(const std::string& group, size_t depth, const Quota& quota, Walk& walk);
  // PID 0: the process is outside our namespace.
  InstanceUsage name_instance(const std::string& group, uint32_t pid);

  const ProcFs& proc_fs_;
  const std::string root_;
  const CensusLimits limits_;
  WorkloadNamer namer_;
  std::map<std::string, int64_t> counters_;  // of the previous census, by group
  int64_t taken_ns_ = 0;
  bool is_first_ = true;
  bool was_cut_ = false;  // the previous census did not visit every group
};

}  // namespace plimsoll::identity
