#include "capture/profile/user_stacks.h"

#include <algorithm>

#include "base/time.h"

namespace plimsoll {
namespace {

// Files are kept open to look at code: programs with code that lacks rules are few.
constexpr size_t kMaxOpenImages = 64;
constexpr size_t kMaxKnownCalls = 16'384;  // of one binary
// At code, in one walk: each is a system call, and a program's return addresses are soon known.
constexpr int kMaxLooks = 64;
// For a binary that is out of reach, in one window.
constexpr int kMaxTries = 4;

identity::MappedFileHint hint_of(const identity::BinaryInfo& binary, uint32_t pid) {
  const bool has_build_id = binary.identity_kind == wire::GNU_BUILD_ID;
  return {.pid = pid,
          .path = binary.path,
          .build_id = has_build_id ? std::string_view(binary.identity) : std::string_view(),
          .file = binary.file,
          .is_without_build_id = binary.identity_kind == wire::CONTENT_HASH && binary.file.inode == 0};
}

Result<elf::LoadedImage> open_binary(const identity::ImageSource& images, const identity::BinaryInfo& binary,
                                     uint32_t pid) {
  if (binary.path == identity::kVdso) {
    const auto bytes = elf::own_vdso_bytes();
    return bytes ? elf::LoadedImage::from_file(elf::read_at_of(*bytes)) : propagate(bytes);
  }
  auto opened = images.open(hint_of(binary, pid));
  return opened ? Result<elf::LoadedImage>(std::move(opened->image)) : propagate(opened);
}

Result<unwind::UnwindTable> compile_table(const elf::LoadedImage& image) {
  const auto sections = image.call_frames();
  return sections ? unwind::UnwindTable::compile(*sections, image.entry_point()) : propagate(sections);
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
    if (mapping_ == nullptr || address < mapping_->start || address >= mapping_->end) {
      move_to(address);
    }
    if (mapping_ == nullptr) {
      return {};
    }
    // Code that no file holds was made by a JIT.
    if (mapping_->binary == nullptr) {
      return {.is_mapped = true, .keeps_frame_pointers = true};
    }
    const auto elf_address =
        elf::address_of(mapping_->binary->segments, address - mapping_->start + mapping_->file_offset);
    if (!elf_address) {
      return {.is_mapped = true};
    }
    return {.is_mapped = true,
            .table = table_,
            .elf_address = *elf_address,
            .keeps_frame_pointers = mapping_->binary->is_go,
            .chain_ends_with_zero = mapping_->binary->is_go};
  }

  std::optional<Call> call_before(uint64_t address) override {
    const identity::Mapping* const mapping = process_.mappings->find(address);
    if (mapping == nullptr || mapping->binary == nullptr) {
      // A JIT's code cannot be looked at, but little else on a stack points into it.
      return mapping == nullptr ? std::nullopt : std::optional(Call{.is_certain = false});
    }
    const auto elf_address =
        elf::address_of(mapping->binary->segments, address - mapping->start + mapping->file_offset);
    if (!elf_address) {
      return std::nullopt;
    }
    const auto calls = stacks_.calls_before(*mapping->binary, process_, *elf_address, looks_left_);
    const uint64_t target = address + static_cast<uint64_t>(int64_t{calls.displacement.value_or(0)});
    if (calls.is_indirect) {
      return Call();  // a direct one in the same bytes is as good as chance
    }
    const bool is_direct = calls.displacement && process_.mappings->find(target) != nullptr;
    return is_direct ? std::optional(Call{.target = target}) : std::nullopt;
  }

  // Why the newest place's binary has no table, if that is more than having none.
  wire::StackProblem problem() const { return problem_; }

 private:
  // Callers mostly lie in the binary of those that they called: the rest of find() is without look-ups then.
  void move_to(uint64_t address) {
    mapping_ = process_.mappings->find(address);
    table_ = nullptr;
    problem_ = wire::STACK_PROBLEM_UNSPECIFIED;
    if (mapping_ == nullptr || mapping_->binary == nullptr) {
      return;
    }
    const BinaryTable& table = stacks_.table_of(*mapping_->binary, process_);
    table_ = table.compiled.get();
    problem_ = table.problem;
  }

  UserStacks& stacks_;
  const identity::Process& process_;
  const identity::Mapping* mapping_ = nullptr;  // of the newest address
  const unwind::UnwindTable* table_ = nullptr;  // of its binary
  wire::StackProblem problem_ = wire::STACK_PROBLEM_UNSPECIFIED;
  int looks_left_ = kMaxLooks;
};

UserStacks::BinaryTable UserStacks::read_table(const identity::BinaryInfo& binary,
                                               const identity::Process& process) const {
  BinaryTable table;
  const auto image = open_binary(images_, binary, process.identity->pid);
  auto compiled = image ? compile_table(*image) : propagate(image);
  if (compiled) {
    table.compiled = std::make_unique<unwind::UnwindTable>(std::move(*compiled));
  } else {
    table.problem = problem_of(compiled.error().code);
  }
  return table;
}

unwind::CallsAtEnd UserStacks::calls_before(const identity::BinaryInfo& binary,
                                            const identity::Process& process, uint64_t elf_address,
                                            int& looks_left) {
  if (codes_.size() >= kMaxOpenImages && !codes_.contains(&binary)) {
    return {};
  }
  std::unique_ptr<Code>& code = codes_[&binary];
  if (code == nullptr) {
    code = std::make_unique<Code>();
    if (auto opened = images_.open(hint_of(binary, process.identity->pid)); opened) {
      code->image = std::make_unique<const elf::LoadedImage>(std::move(opened->image));
    }
  }
  if (const auto known = code->calls.find(elf_address); known != code->calls.end()) {
    return known->second;
  }
  if (looks_left-- <= 0) {
    return {};
  }
  if (code->calls.size() >= kMaxKnownCalls) {
    code->calls.clear();
  }
  unwind::CallsAtEnd calls;
  if (code->image != nullptr) {
    const auto bytes = code->image->read(elf_address - unwind::kLongestCallBytes, unwind::kLongestCallBytes);
    calls = bytes ? unwind::calls_at_end(as_bytes(*bytes)) : calls;
  }
  code->calls.emplace(elf_address, calls);
  return calls;
}

const UserStacks::BinaryTable& UserStacks::table_of(const identity::BinaryInfo& binary,
                                                    const identity::Process& process) {
  const auto [entry, is_new] = tables_.try_emplace(&binary);
  BinaryTable& table = entry->second;
  const uint32_t pid = process.identity->pid;
  table.tries = table.used_in == window_ ? table.tries : 0;
  // Out of reach in one process, it may be within in another.
  const bool may_be_found = table.problem == wire::BINARY_OUT_OF_REACH && table.tried_for_pid != pid &&
                            table.tries < kMaxTries && images_.are_of_this_machine();
  const bool wants_room = is_new || table.waits_for_room;
  if (wants_room && table_bytes_ > 2 * max_table_bytes_) {
    table.problem = wire::TABLE_FULL;
    table.waits_for_room = true;
  } else if (wants_room || may_be_found) {
    const int tries = table.tries + 1;
    const int64_t cpu_before_ns = thread_cpu_ns();
    table = read_table(binary, process);
    compile_cpu_ns_ += thread_cpu_ns() - cpu_before_ns;
    table.tried_for_pid = pid;
    table.tries = tries;
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
  if (copy.bytes.empty() && walked_.end != unwind::StackEnd::kOutermost) {
    stack.problem =
        wire::NO_USER_STACK;  // within execve, the old program's memory is gone before its registers are
  }
  if (!stack.addresses.empty()) {
    code.find(stack.addresses.back());  // where the walk ended, whatever was looked at since
  }
  if (walked_.end == unwind::StackEnd::kNoUnwindInformation &&
      code.problem() != wire::STACK_PROBLEM_UNSPECIFIED) {
    stack.problem = code.problem();
  }
}

void UserStacks::forget(const identity::BinaryInfo* binary) {
  codes_.erase(binary);
  const auto table = tables_.find(binary);
  if (table == tables_.end()) {
    return;
  }
  table_bytes_ -= table->second.compiled == nullptr ? 0 : table->second.compiled->memory_bytes();
  tables_.erase(table);
  walker_.forget_tables();
}

void UserStacks::trim() {
  ++window_;
  codes_.clear();
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
    walker_.forget_tables();
  }
}

void UserStacks::clear() {
  tables_.clear();
  codes_.clear();
  table_bytes_ = 0;
  walker_.forget_tables();
}

}  // namespace plimsoll
