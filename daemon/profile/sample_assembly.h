// From perf records, in the order of time, to the samples of a profile: which process, which code.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "daemon/identity/kernel.h"
#include "daemon/identity/processes.h"
#include "daemon/perf/records.h"
#include "daemon/profile/profile_builder.h"
#include "daemon/profile/user_stacks.h"

namespace plimsoll {

// Borrows everything; one thread.
class SampleAssembly {
 public:
  // `kernel` is null where kernel addresses are hidden, `user_stacks` where samples come with the frames that the kernel
  // found by frame pointers rather than with a copy of the stack. `event_of` gives the index of a record's event ID among the
  // profile's events, or -1.
  SampleAssembly(identity::ProcessTable& processes, const identity::KernelMap* kernel,
                 UserStacks* user_stacks, ProfileBuilder& builder, std::function<int(uint64_t)> event_of);

  void apply(const perf::Record& record);

 private:
  void apply_sample(const perf::SampleRecord& sample);
  // The locations of a sample, leaf first, in `stack_`.
  void resolve(const perf::SampleRecord& sample, identity::Process& process);
  void resolve_bare(const perf::SampleRecord& sample, identity::Process& process);
  void add_call_chain(const perf::SampleRecord& sample, identity::Process& process);
  void add_user_stack(const perf::SampleRecord& sample, identity::Process& process);
  void count_hidden_kernel(const perf::SampleRecord& sample);
  // Counts it, and marks the stack as one without its outermost frames.
  void leave_unfinished(wire::StackProblem problem);
  uint32_t kernel_location(uint64_t address);
  // Nothing where the address lies in no executable mapping.
  std::optional<uint32_t> user_location(uint64_t address, identity::Process& process);

  identity::ProcessTable& processes_;
  const identity::KernelMap* kernel_;
  UserStacks* user_stacks_;
  ProfileBuilder& builder_;
  std::function<int(uint64_t)> event_of_;
  size_t deepest_;  // frames, as the kernel is set to record them
  std::vector<uint32_t> stack_;
  bool has_user_part_ = false;
  std::vector<uint64_t> user_chain_;  // by the kernel, where the stack is to be unwound
  bool chain_is_cut_ = false;         // at the deepest that the kernel records
  UserStack user_stack_;
};

}  // namespace plimsoll
