// From perf records, in the order of time, to the samples of a profile: which process, which code.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "capture/identity/kernel.h"
#include "capture/identity/processes.h"
#include "capture/perf/records.h"
#include "capture/profile/profile_builder.h"
#include "capture/profile/user_stacks.h"

namespace plimsoll {

// Frames that this machine's kernel records at most (kernel.perf_event_max_stack).
size_t deepest_kernel_chain();

// Borrows everything; one thread.
class SampleAssembly {
 public:
  // `kernel` is null where kernel addresses are hidden, `user_stacks` where no sample comes with a copy of its stack: then
  // those frames count that the kernel found by frame pointers, as in each sample without a copy. `event_of` gives the index of a record's event ID among the
  // profile's events, or -1.
  SampleAssembly(identity::ProcessTable& processes, const identity::KernelCode* kernel,
                 UserStacks* user_stacks, ProfileBuilder& builder, std::function<int(uint64_t)> event_of,
                 size_t deepest_chain = deepest_kernel_chain());

  void apply(const perf::Record& record);

  // What a sample was taken of, for those who count it themselves.
  struct Subject {
    uint32_t thread = 0;
    uint32_t stack = 0;
  };
  Subject find_subject(const perf::SampleRecord& sample, int64_t time_ns = INT64_MAX);

  // Called with each sample that counts, its event's index and what it was taken of; may be empty.
  using OnSample = std::function<void(const perf::SampleRecord&, int64_t time_ns, uint32_t event, Subject)>;
  void set_on_sample(OnSample on_sample) { on_sample_ = std::move(on_sample); }

  // A thread of which there is no sample, in the control group that its process is in.
  uint32_t find_thread(uint32_t pid, uint32_t tid, int64_t time_ns);
  // The stack of what was timed or counted, and whose stack was not taken.
  uint32_t stack_not_taken();

  // Adds the branches that came with a sample of that thread, the newest first.
  void add_branches(uint32_t thread, uint32_t pid, std::span<const perf::BranchRecord> branches);
  // Adds the code that ran between them, where they are all that were taken.
  void add_branch_ranges(uint32_t thread, uint32_t pid, std::span<const perf::BranchRecord> branches);

 private:
  void apply_sample(const perf::SampleRecord& sample, int64_t time_ns);
  uint32_t branch_location(uint64_t address, identity::Process& process);
  // The locations of a sample, leaf first, in `stack_`.
  void resolve(const perf::SampleRecord& sample, identity::Process& process);
  void resolve_bare(const perf::SampleRecord& sample, identity::Process& process);
  bool will_unwind(const perf::SampleRecord& sample) const {
    return user_stacks_ != nullptr && sample.user_abi != PERF_SAMPLE_REGS_ABI_NONE;
  }
  void add_call_chain(const perf::SampleRecord& sample, identity::Process& process);
  void add_user_stack(const perf::SampleRecord& sample, identity::Process& process);
  void count_hidden_kernel(const perf::SampleRecord& sample);
  // Counts it, and marks the stack as one without its outermost frames.
  void leave_unfinished(wire::StackProblem problem);
  uint32_t kernel_location(uint64_t address);
  // Nothing where the address lies in no executable mapping.
  std::optional<uint32_t> user_location(uint64_t address, identity::Process& process);

  identity::ProcessTable& processes_;
  const identity::KernelCode* kernel_;
  UserStacks* user_stacks_;
  ProfileBuilder& builder_;
  std::function<int(uint64_t)> event_of_;
  OnSample on_sample_;
  size_t deepest_;  // frames, as the kernel was set to record them
  std::vector<uint32_t> stack_;
  bool has_user_part_ = false;
  uint32_t process_index_ = 0;        // of the sample's process in the profile
  std::vector<uint64_t> user_chain_;  // by the kernel, where the stack is to be unwound
  bool chain_is_cut_ = false;         // at the deepest that the kernel records
  UserStack user_stack_;
};

}  // namespace plimsoll
