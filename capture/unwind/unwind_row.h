// How the caller of a frame is found at one address: what call frame information says in full (DWARF 5, section 6.4.1).
#pragma once

#include <array>
#include <cstdint>

#include "capture/unwind/registers.h"

namespace plimsoll::unwind {

// How the caller's value of a register is found.
struct Rule {
  enum class Kind : uint8_t {
    kSame,          // not changed by this frame
    kUndefined,     // lost; for the return address: there is no caller
    kAtOffset,      // in memory at CFA + offset
    kOffset,        // CFA + offset itself; for the CFA: `reg` + offset
    kRegister,      // in register `reg`
    kAtExpression,  // in memory where the expression says
    kExpression,    // what the expression says
  };
  Kind kind = Kind::kSame;
  uint8_t reg = 0;
  int64_t offset = 0;
  // Of the expression, in the pool of its table.
  uint32_t expression_offset = 0;
  uint32_t expression_bytes = 0;

  auto operator<=>(const Rule&) const = default;
};

struct UnwindRow {
  Rule cfa{.kind = Rule::Kind::kUndefined};  // canonical frame address: the caller's stack pointer
  std::array<Rule, kRegisters> registers{};
  // A signal handler's caller was interrupted, rather than having made a call: its address is exact.
  bool is_signal_frame = false;

  auto operator<=>(const UnwindRow&) const = default;
};

}  // namespace plimsoll::unwind
