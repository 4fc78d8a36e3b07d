// A thread's stack as a sample captured it: from the stack pointer upwards, to a fixed length or the stack's end.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "base/byte_reader.h"

namespace plimsoll::unwind {

// Borrows the bytes.
struct StackCopy {
  uint64_t start = 0;  // address of the first byte
  Bytes bytes;
  bool is_cut = false;  // the stack goes on behind the copy

  // Whether the word at `address` lies in the copy whole.
  bool holds(uint64_t address) const {
    return address >= start && bytes.size() >= sizeof(uint64_t) &&
           address - start <= bytes.size() - sizeof(uint64_t);
  }

  std::optional<uint64_t> word(uint64_t address) const {
    if (!holds(address)) {
      return std::nullopt;
    }
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + (address - start), sizeof value);
    return value;
  }
};

}  // namespace plimsoll::unwind
