// How a walk ends.
#pragma once

#include <cstdint>
#include <optional>

#include "capture/unwind/stack_copy.h"

namespace plimsoll::unwind {

// Why a stack has no more frames.
enum class StackEnd {
  kOutermost,     // by definition: the return address is undefined or 0, or the chain of frame pointers ends
  kCutCopy,       // the stack goes on behind the captured part
  kOutsideStack,  // a rule reads what is not in this stack (a signal handler's own stack, damage)
  kNotMapped,     // a return address outside executable mappings
  kNoUnwindInformation,
  kDamagedUnwindInformation,
  kTooDeep,
};

// Why a word is not in the copy: it lies behind its end, or on another stack.
inline StackEnd why_not_held(const StackCopy& stack, uint64_t address) {
  // As large as the kernel and libc make stacks unless told otherwise.
  constexpr uint64_t kLargestStackBytes = uint64_t{8} << 20;
  const bool is_behind = address >= stack.start && address - stack.start < kLargestStackBytes;
  return stack.is_cut && is_behind ? StackEnd::kCutCopy : StackEnd::kOutsideStack;
}

// A word that a rule needs, or why it cannot be had.
inline std::optional<uint64_t> read_word(const StackCopy& stack, uint64_t address, StackEnd& end) {
  const auto word = stack.word(address);
  if (!word) {
    end = why_not_held(stack, address);
  }
  return word;
}

}  // namespace plimsoll::unwind
