// Which calls do not return. Only query/fdo/code includes this.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elf/elf_file.h"
#include "query/fdo/code/decoded_function.h"
#include "query/fdo/code/decoder.h"
#include "query/fdo/code/function_extents.h"

namespace plimsoll::fdo {

// By names that C, C++ and their runtimes give to functions that never return; also through the stubs of shared libraries (x86-64). Borrows all that it is
// given. One thread.
class NoReturn {
 public:
  NoReturn(const elf::ElfFile& binary, const std::vector<FunctionExtent>& extents,
           const LoadedSections& sections);

  // Whether a call to this address does not come back.
  bool is_target(uint64_t address, Decoder& decoder);

 private:
  void read_imports(const elf::ElfFile& binary, const elf::Section& relocations);
  std::string_view name_at(uint64_t address, Decoder& decoder) const;

  const std::vector<FunctionExtent>& extents_;
  const LoadedSections& sections_;
  std::vector<CodeRange> stubs_;                  // sections of .plt
  std::map<uint64_t, std::string_view> imports_;  // by the address of their slot
  std::unordered_map<uint64_t, bool> known_;
};

}  // namespace plimsoll::fdo
