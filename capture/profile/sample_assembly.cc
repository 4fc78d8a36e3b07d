#include "capture/profile/sample_assembly.h"

#include <charconv>

#include "base/file.h"

namespace plimsoll {
namespace {

// Marks in a call chain, PERF_CONTEXT_*, lie at the top of the address space.
bool is_context_mark(uint64_t entry) {
  return entry >= PERF_CONTEXT_MAX;
}

bool is_kernel_address(uint64_t address) {
  return address > UINT64_MAX / 2;
}

}  // namespace

size_t deepest_kernel_chain() {
  size_t frames = 127;
  if (const auto text = read_file("/proc/sys/kernel/perf_event_max_stack", 64)) {
    std::from_chars(text->data(), text->data() + text->size(), frames);
  }
  return frames;
}

SampleAssembly::SampleAssembly(identity::ProcessTable& processes, const identity::KernelCode* kernel,
                               UserStacks* user_stacks, ProfileBuilder& builder,
                               std::function<int(uint64_t)> event_of, size_t deepest_chain)
    : processes_(processes),
      kernel_(kernel),
      user_stacks_(user_stacks),
      builder_(builder),
      event_of_(std::move(event_of)),
      deepest_(deepest_chain) {}

void SampleAssembly::apply(const perf::Record& record) {
  if (const auto* sample = std::get_if<perf::SampleRecord>(&record.body)) {
    apply_sample(*sample, record.time_ns);
  } else if (const auto* throttle = std::get_if<perf::ThrottleRecord>(&record.body)) {
    if (const int event = event_of_(throttle->event_id); event >= 0) {
      builder_.add_throttle(static_cast<uint32_t>(event));
    }
  } else {
    processes_.apply(record);
  }
}

void SampleAssembly::apply_sample(const perf::SampleRecord& sample, int64_t time_ns) {
  const int index = event_of_(sample.event_id);
  if (index < 0) {
    return;
  }
  const Subject subject = find_subject(sample, time_ns);
  builder_.add_hit(static_cast<uint32_t>(index), subject.thread, subject.stack);
  if (on_sample_) {
    on_sample_(sample, time_ns, static_cast<uint32_t>(index), subject);
  }
  if (!sample.branches.empty()) {
    add_branches(subject.thread, sample.pid, sample.branches);
    add_branch_ranges(subject.thread, sample.pid, sample.branches);
  }
}

SampleAssembly::Subject SampleAssembly::find_subject(const perf::SampleRecord& sample, int64_t time_ns) {
  identity::Process& process = processes_.find(sample.pid, time_ns);
  process_index_ = builder_.process(process.identity, processes_.cgroup_of(process, sample.cgroup));
  resolve(sample, process);
  const uint32_t thread =
      builder_.thread(process_index_, sample.tid, processes_.thread_name(process, sample.tid));
  return {thread, builder_.stack(stack_)};
}

uint32_t SampleAssembly::find_thread(uint32_t pid, uint32_t tid, int64_t time_ns) {
  identity::Process& process = processes_.find(pid, time_ns);
  const uint32_t index = builder_.process(process.identity, processes_.cgroup_of(process, 0));
  return builder_.thread(index, tid, processes_.thread_name(process, tid));
}

uint32_t SampleAssembly::stack_not_taken() {
  const uint32_t location = builder_.location(wire::UNFINISHED, 0, wire::STACK_NOT_TAKEN);
  return builder_.stack(std::span(&location, 1));
}

uint32_t SampleAssembly::branch_location(uint64_t address, identity::Process& process) {
  if (is_kernel_address(address)) {
    return kernel_location(address);
  }
  const auto location = user_location(address, process);
  return location.value_or(builder_.location(wire::UNRESOLVED, 0, 0));
}

void SampleAssembly::add_branches(uint32_t thread, uint32_t pid,
                                  std::span<const perf::BranchRecord> branches) {
  identity::Process& process = processes_.find(pid);
  for (const perf::BranchRecord& branch : branches) {
    builder_.add_branch({thread, branch_location(branch.from, process), branch_location(branch.to, process)},
                        branch.is_mispredicted);
  }
}

void SampleAssembly::add_branch_ranges(uint32_t thread, uint32_t pid,
                                       std::span<const perf::BranchRecord> branches) {
  identity::Process& process = processes_.find(pid);
  for (size_t i = 1; i < branches.size(); ++i) {
    builder_.add_branch_range(
        {thread, branch_location(branches[i].to, process), branch_location(branches[i - 1].from, process)});
  }
}

void SampleAssembly::count_hidden_kernel(const perf::SampleRecord& sample) {
  if (kernel_ == nullptr && is_kernel_address(sample.ip)) {
    builder_.count_problem(wire::KERNEL_HIDDEN);
  }
}

void SampleAssembly::leave_unfinished(wire::StackProblem problem) {
  builder_.count_problem(problem);
  stack_.push_back(builder_.location(wire::UNFINISHED, 0, static_cast<uint64_t>(problem)));
}

void SampleAssembly::add_call_chain(const perf::SampleRecord& sample, identity::Process& process) {
  user_chain_.clear();
  const bool unwinds = will_unwind(sample);
  bool in_kernel = false;
  bool is_first = true;  // of its part: an instruction pointer; those after it are return addresses
  size_t frames = 0;
  for (const uint64_t entry : sample.callchain) {
    if (is_context_mark(entry)) {
      in_kernel = entry == PERF_CONTEXT_KERNEL;
      is_first = true;
      continue;
    }
    ++frames;
    // A return address may be the first byte of the next function; the call lies before it.
    const uint64_t address = is_first ? entry : entry - 1;
    is_first = false;
    if (in_kernel) {
      stack_.push_back(kernel_location(address));
      continue;
    }
    if (unwinds) {
      user_chain_.push_back(entry);
      continue;
    }
    has_user_part_ = true;
    const auto location = user_location(address, process);
    if (!location) {
      leave_unfinished(wire::NOT_IN_A_MAPPING);
      return;
    }
    stack_.push_back(*location);
  }
  chain_is_cut_ = frames >= deepest_;
  if (!chain_is_cut_ || (unwinds && !in_kernel)) {
    return;
  }
  if (in_kernel) {
    builder_.count_problem(wire::TOO_DEEP);  // the user part may still follow
  } else {
    leave_unfinished(wire::TOO_DEEP);
  }
}

void SampleAssembly::add_user_stack(const perf::SampleRecord& sample, identity::Process& process) {
  user_stacks_->unwind(sample, {.addresses = user_chain_, .is_cut = chain_is_cut_}, process, user_stack_);
  // The kernel's chain tells where the thread was even of a process that cannot be unwound.
  if (user_stack_.addresses.empty() && !user_chain_.empty()) {
    user_stack_.addresses.push_back(user_chain_.front());
  }
  for (const uint64_t address : user_stack_.addresses) {
    const auto location = user_location(address, process);
    stack_.push_back(location.value_or(builder_.location(wire::UNRESOLVED, 0, 0)));
  }
  has_user_part_ = true;
  if (user_stack_.problem != wire::STACK_PROBLEM_UNSPECIFIED) {
    leave_unfinished(user_stack_.problem);
  }
}

void SampleAssembly::resolve(const perf::SampleRecord& sample, identity::Process& process) {
  stack_.clear();
  if (sample.is_bare) {
    resolve_bare(sample, process);
    return;
  }
  has_user_part_ = false;
  add_call_chain(sample, process);
  if (will_unwind(sample)) {
    add_user_stack(sample, process);
  }
  const bool is_kernel_thread = process.identity->executable == identity::kKernelExecutable;
  if (!has_user_part_ && !is_kernel_thread && !sample.is_leaf_only) {
    leave_unfinished(wire::NO_USER_STACK);
  }
  if (!stack_.empty()) {
    count_hidden_kernel(sample);
  }
}

void SampleAssembly::resolve_bare(const perf::SampleRecord& sample, identity::Process& process) {
  const auto location =
      is_kernel_address(sample.ip) ? kernel_location(sample.ip) : user_location(sample.ip, process);
  stack_.push_back(location.value_or(builder_.location(wire::UNRESOLVED, 0, 0)));
  leave_unfinished(wire::STACK_NOT_TAKEN);
  count_hidden_kernel(sample);
}

uint32_t SampleAssembly::kernel_location(uint64_t address) {
  const auto place = kernel_ == nullptr ? std::nullopt : kernel_->find(address);
  if (!place) {
    return builder_.location(wire::UNRESOLVED, 0, 0);
  }
  if (place->stub != nullptr) {
    return builder_.bpf_location(place->stub->name);
  }
  const bool is_module = place->image->name != identity::kKernelExecutable;
  return builder_.location(is_module ? wire::MODULE : wire::KERNEL, builder_.kernel_binary(*place->image),
                           place->offset);
}

std::optional<uint32_t> SampleAssembly::user_location(uint64_t address, identity::Process& process) {
  const identity::Mapping* mapping = process.mappings->find(address);
  if (mapping == nullptr) {
    return std::nullopt;
  }
  if (mapping->binary == nullptr) {
    return builder_.location(wire::JIT, process_index_, address);
  }
  const uint64_t file_offset = address - mapping->start + mapping->file_offset;
  const uint32_t binary = builder_.binary(mapping->binary);
  const auto elf_address = elf::address_of(mapping->binary->segments, file_offset);
  return elf_address ? builder_.location(wire::ELF, binary, *elf_address)
                     : builder_.location(wire::ELF_FILE_OFFSET, binary, file_offset);
}

}  // namespace plimsoll
