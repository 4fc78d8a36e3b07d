// Where the code of a relocatable file lies once the kernel has loaded it as a module.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elf/elf_file.h"

namespace plimsoll::elf {

// The kernel's module loader puts the executable sections that stay loaded one behind the other, in the file's order, each
// at its alignment, and begins a module with them (layout_sections() in kernel/module/main.c). Addresses count from there, as
// those of profiles do (identity::KernelImage). Sections whose names begin with ".init" are freed after the module has
// started, and have no address. Immutable.
class ModuleLayout {
 public:
  ModuleLayout() = default;
  // Of a file that is not relocatable: no section has an address here.
  explicit ModuleLayout(const ElfFile& file);

  // Of the section with that number in ElfFile::sections(); nothing where it holds no code that stays loaded.
  std::optional<uint64_t> address_of(uint64_t section) const {
    return section < addresses_.size() ? addresses_[section] : std::nullopt;
  }
  // Behind the last byte of code.
  uint64_t end() const { return end_; }

 private:
  std::vector<std::optional<uint64_t>> addresses_;
  uint64_t end_ = 0;
};

}  // namespace plimsoll::elf
