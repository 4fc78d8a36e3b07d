// What a process has mapped of code.
#pragma once

#include <cstdint>
#include <map>

#include "capture/identity/binaries.h"

namespace plimsoll::identity {

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  const BinaryInfo* binary = nullptr;  // null: no file (JIT code)
};

// Executable mappings of a process, by start, without overlap.
class Mappings {
 public:
  // Replaces whatever part of older mappings lies under the new one.
  void add(const Mapping& mapping);
  const Mapping* find(uint64_t address) const;
  const std::map<uint64_t, Mapping>& all() const { return by_start_; }

 private:
  std::map<uint64_t, Mapping> by_start_;
};

}  // namespace plimsoll::identity
