#include "bench/daemon/replayed_walk.h"

#include "elf/elf_file.h"

namespace plimsoll::bench {

class ReplayedWalk::NotingCode : public unwind::CodeMap {
 public:
  NotingCode(ReplayedWalk& walk, const identity::Process& process, std::vector<unwind::CodePlace>& places)
      : walk_(walk), process_(process), places_(places) {}

  unwind::CodePlace find(uint64_t address) override {
    const identity::Mapping* const mapping = process_.mappings->find(address);
    unwind::CodePlace place{.is_mapped = mapping != nullptr};
    if (mapping != nullptr && mapping->binary != nullptr) {
      const auto elf_address =
          elf::address_of(mapping->binary->segments, address - mapping->start + mapping->file_offset);
      place.table = elf_address ? walk_.table_of(*mapping->binary, process_.identity->pid) : nullptr;
      place.elf_address = elf_address.value_or(0);
    }
    return places_.emplace_back(place);
  }

 private:
  ReplayedWalk& walk_;
  const identity::Process& process_;
  std::vector<unwind::CodePlace>& places_;
};

class ReplayedWalk::NotedCode : public unwind::CodeMap {
 public:
  explicit NotedCode(const std::vector<unwind::CodePlace>& places) : next_(places.begin()) {}
  unwind::CodePlace find(uint64_t /*address*/) override { return *next_++; }

 private:
  std::vector<unwind::CodePlace>::const_iterator next_;
};

namespace {

Result<std::vector<elf::CallFrames>> call_frames_of(const identity::ImageSource& images,
                                                    const identity::BinaryInfo& binary, uint32_t pid) {
  if (binary.path == identity::kVdso) {
    const auto bytes = elf::own_vdso_bytes();
    const auto image = bytes ? elf::LoadedImage::from_file(elf::read_at_of(*bytes)) : propagate(bytes);
    return image ? image->call_frames() : propagate(image);
  }
  const bool has_build_id = binary.identity_kind == wire::GNU_BUILD_ID;
  const std::string_view build_id = has_build_id ? std::string_view(binary.identity) : std::string_view();
  const auto opened = images.open({pid, binary.path, build_id, binary.file});
  return opened ? opened->image.call_frames() : propagate(opened);
}

}  // namespace

const unwind::UnwindTable* ReplayedWalk::table_of(const identity::BinaryInfo& binary, uint32_t pid) {
  const auto [entry, is_new] = tables_.try_emplace(&binary);
  if (is_new) {
    const auto sections = call_frames_of(images_, binary, pid);
    auto table = sections ? unwind::UnwindTable::compile(*sections) : propagate(sections);
    entry->second = table ? std::make_unique<unwind::UnwindTable>(std::move(*table)) : nullptr;
  }
  return entry->second.get();
}

void ReplayedWalk::prepare(const CapturedSample& captured) {
  const perf::SampleRecord& sample = captured.sample;
  Stack stack;
  stack.registers = unwind::registers_from_perf(perf::kUserRegisterMask, sample.user_registers);
  stack.copy = {
      .start = stack.registers[unwind::kRsp], .bytes = sample.user_stack, .is_cut = sample.user_stack_is_cut};
  NotingCode code(*this, captured.process, stack.places);
  walker_.walk(stack.registers, stack.copy, {}, code, walked_);
  stacks_.push_back(std::move(stack));
}

size_t ReplayedWalk::walk(size_t index) {
  const Stack& stack = stacks_[index];
  NotedCode code(stack.places);
  walker_.walk(stack.registers, stack.copy, {}, code, walked_);
  return walked_.addresses.size();
}

}  // namespace plimsoll::bench
