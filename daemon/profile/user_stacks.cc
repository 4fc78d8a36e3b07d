#include "daemon/profile/user_stacks.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Read as far as that is needed, from what stays open meanwhile.
Result<std::vector<elf::CallFrames>> find_call_frames(const identity::ImageSource& images,
                                                      const identity::BinaryInfo& binary, uint32_t pid) {
  if (binary.path == identity::kVdso) {
    const auto bytes = elf::own_vdso_bytes();
    const auto image = bytes ? elf::LoadedImage::from_file(elf::read_at_of(*bytes)) : propagate(bytes);
    return image ? image->call_frames() : propagate(image);
  }
  const bool has_build_id = binary.identity_kind == wire::GNU_BUILD_ID;
  const auto opened = images.open(
      {pid, binary.path, has_build_id ? std::string_view(binary.identity) : std::string_view(), binary.file});
  return opened ? opened->image.call_frames() : propagate(opened);
}

wire::StackProblem problem_of(unwind::StackEnd end) {
  switch (end) {
    case unwind::StackEnd::kOutermost:
      return wire::STACK_PROBLEM_UNSPECIFIED;
    case unwind::StackEnd::kCutCopy:
      return wire::TRUNCATED_STACK_COPY;
    case unwind::StackEnd::kOutsideStack:
      return wire::OUTSIDE_STACK;
    case unwind::StackEnd::kNotMapped:
      return wire::NOT_IN_A_MAPPING;
    case unwind::StackEnd::kNoUnwindInformation:
      return wire::NO_UNWIND_INFORMATION;
    case unwind::StackEnd::kDamagedUnwindInformation:
      return wire::DAMAGED_UNWIND_INFORMATION;
    case unwind::StackEnd::kTooDeep:
      return wire::TOO_DEEP;
  }
  return wire::NO_UNWIND_INFORMATION;
}

// Why a binary's table could not be made.
wire::StackProblem problem_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCorrupt:
      return wire::DAMAGED_UNWIND_INFORMATION;
    case ErrorCode::kUnsupported:
      return wire::UNSUPPORTED_ABI;
    case ErrorCode::kTooLarge:
      return wire::TABLE_FULL;
    default:
      return wire::BINARY_OUT_OF_REACH;
  }
}

}  // namespace

// The code of one process while one of its stacks is walked.
class UserStacks::ProcessCode : public unwind::CodeMap {
 public:
  ProcessCode(UserStacks& stacks, const identity::Process& process) : stacks_(stacks), process_(process) {}

  unwind::CodePlace find(uint64_t address) override {
    const identity::Mapping* const mapping = process_.mappings->find(address);
    if (mapping == nullptr) {
      return {};
    }
    // Code that no file holds was made by a JIT.
    if (mapping->binary == nullptr) {
      return {.is_mapped = true, .keeps_frame_pointers = true};
    }
    const BinaryTable& table = stacks_.table_of(*mapping->binary, process_);
    problem_ = table.problem;
    const auto elf_address =
        elf::address_of(mapping->binary->segments, address - mapping->start + mapping->file_offset);
    if (!elf_address) {
      return {.is_mapped = true};
    }
    return {.is_mapped = true,
            .table = table.compiled.get(),
            .elf_address = *elf_address,
            .keeps_frame_pointers = mapping->binary->is_go,
            .chain_ends_with_zero = mapping->binary->is_go};
  }

  // Why the newest place's binary has no table, if that is more than having none.
  wire::StackProblem problem() const { return problem_; }

 private:
  UserStacks& stacks_;
  const identity::Process& process_;
  wire::StackProblem problem_ = wire::STACK_PROBLEM_UNSPECIFIED;
};

UserStacks::BinaryTable UserStacks::read_table(const identity::BinaryInfo& binary,
                                               const identity::Process& process) const {
  BinaryTable table;
  const auto sections = find_call_frames(images_, binary, process.identity->pid);
  if (sections && sections->empty()) {
    return table;
  }
  auto compiled = sections ? unwind::UnwindTable::compile(*sections) : propagate(sections);
  if (compiled) {
    table.compiled = std::make_unique<unwind::UnwindTable>(std::move(*compiled));
  } else {
    table.problem = problem_of(compiled.error().code);
  }
  return table;
}

const UserStacks::BinaryTable& UserStacks::table_of(const identity::BinaryInfo& binary,
                                                    const identity::Process& process) {
  const auto [entry, is_new] = tables_.try_emplace(&binary);
  BinaryTable& table = entry->second;
  const uint32_t pid = process.identity->pid;
  // Out of reach in one process, it may be within in another.
  const bool may_be_found = table.problem == wire::BINARY_OUT_OF_REACH && table.tried_for_pid != pid;
  const bool wants_room = is_new || table.waits_for_room;
  if (wants_room && table_bytes_ > 2 * max_table_bytes_) {
    table.problem = wire::TABLE_FULL;
    table.waits_for_room = true;
  } else if (wants_room || may_be_found) {
    table = read_table(binary, process);
    table.tried_for_pid = pid;
    table_bytes_ += table.compiled == nullptr ? 0 : table.compiled->memory_bytes();
  }
  table.used_in = window_;
  return table;
}

void UserStacks::unwind(const perf::SampleRecord& sample, const unwind::FramePointerChain& chain,
                        const identity::Process& process, UserStack& stack) {
  stack.addresses.clear();
  if (sample.user_abi != PERF_SAMPLE_REGS_ABI_64) {
    stack.problem = wire::UNSUPPORTED_ABI;
    return;
  }
  const auto registers = unwind::registers_from_perf(perf::kUserRegisterMask, sample.user_registers);
  const unwind::StackCopy copy{
      .start = registers[unwind::kRsp], .bytes = sample.user_stack, .is_cut = sample.user_stack_is_cut};
  ProcessCode code(*this, process);
  walker_.walk(registers, copy, chain, code, walked_);
  stack.addresses.swap(walked_.addresses);
  stack.problem = problem_of(walked_.end);
  if (walked_.end == unwind::StackEnd::kNoUnwindInformation &&
      code.problem() != wire::STACK_PROBLEM_UNSPECIFIED) {
    stack.problem = code.problem();
  }
}

void UserStacks::trim() {
  ++window_;
  std::vector<std::pair<uint64_t, const identity::BinaryInfo*>> by_age;
  for (const auto& [binary, table] : tables_) {
    if (table.compiled != nullptr) {
      by_age.emplace_back(table.used_in, binary);
    }
  }
  std::ranges::sort(by_age);
  for (const auto& [used_in, binary] : by_age) {
    if (table_bytes_ <= max_table_bytes_) {
      return;
    }
    table_bytes_ -= tables_[binary].compiled->memory_bytes();
    tables_.erase(binary);
  }
}

}  // namespace plimsoll
