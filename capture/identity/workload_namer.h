// Names processes as the rules say, each combination of facts once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "capture/identity/job_rules.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/processes.h"
#include "proto/profile.pb.h"

namespace plimsoll::identity {

// One thread. Borrows `proc_fs`. Memory: the names of at most 10,000 combinations of facts.
class WorkloadNamer {
 public:
  // Null: no rules.
  WorkloadNamer(const ProcFs& proc_fs, std::shared_ptr<const JobRules> rules);

  // Reads the variables of a process while it is there, if there are rules to read any for: call at its first sample of a
  // window. At the record of its exec, the program may not have them yet. What was read of another process that has its PID
  // by now is thrown away; of one that cannot be read any more, nothing is known.
  // Reads three files, once a process.
  void read_variables(ProcessIdentity& process) const;

  // Call when the identity is complete. The reference holds until the next call.
  // `cgroup` is the path that it was in.
  const Workload& name(const ProcessIdentity& process, std::string_view cgroup);

  // A live process, by what /proc says of it now; `cgroup` is its path.
  const Workload& name(uint32_t pid, std::string_view cgroup);

  // Of what little is known.
  const Workload& name(const ProcessFacts& facts);

 private:
  Environment variables_of(uint32_t pid) const;

  const ProcFs& proc_fs_;
  const std::shared_ptr<const JobRules> rules_;
  std::unordered_map<std::string, Workload> known_;  // by all facts
};

// Whether /proc tells of this process, and program, and of no later one of its PID. False where it is not known when it
// started.
bool is_still(const ProcFs& proc_fs, const ProcessIdentity& process);

// Without rules.
Workload workload_of(const ProcessIdentity& process, std::string_view cgroup);

// What a profile says of a process, but its binary.
wire::Process process_message(const ProcessIdentity& process, const std::string& cgroup,
                              const Workload& workload);

}  // namespace plimsoll::identity
