#include "elf/module_layout.h"

#include <elf.h>

#include <bit>

namespace plimsoll::elf {
namespace {

// Modules have a few megabytes. A damaged file must not have addresses that wrap around.
constexpr uint64_t kMaxCodeBytes = uint64_t{4} << 30;
constexpr uint64_t kMaxAlignment = uint64_t{2} << 20;

bool stays_loaded(const Section& section) {
  constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
  return (section.flags & kCode) == kCode && !section.name.starts_with(".init");
}

}  // namespace

ModuleLayout::ModuleLayout(const ElfFile& file) {
  if (file.type() != ET_REL) {
    return;
  }
  for (const Section& section : file.sections()) {
    std::optional<uint64_t>& address = addresses_.emplace_back();
    const uint64_t alignment = std::has_single_bit(section.alignment_bytes) ? section.alignment_bytes : 1;
    if (!stays_loaded(section) || alignment > kMaxAlignment || section.size_bytes > kMaxCodeBytes - end_) {
      continue;
    }
    address = (end_ + alignment - 1) / alignment * alignment;
    end_ = *address + section.size_bytes;
    if (end_ > kMaxCodeBytes) {
      end_ = *address;
      address.reset();
    }
  }
}

}  // namespace plimsoll::elf
