// DWARF expressions, as far as call frame information uses them (DWARF 5, section 2.5).
#pragma once

#include <optional>

#include "base/byte_reader.h"
#include "capture/unwind/registers.h"
#include "capture/unwind/stack_copy.h"

namespace plimsoll::unwind {

// Why an expression has no value.
enum class ExpressionFailure {
  kMalformed,  // or an operation that call frame information has no use for
  kUnknownRegister,
  kOutsideStack,  // `address` was read
};

struct ExpressionValue {
  std::optional<uint64_t> value;
  ExpressionFailure failure = ExpressionFailure::kMalformed;  // where there is no value
  uint64_t address = 0;                                       // with kOutsideStack
  int operations = 0;                                         // that were carried out
};

// The value of `expression` in a frame with these registers, `initial` (where given) on its stack at the start. Bounded:
// at most 200 operations and 64 values.
ExpressionValue evaluate(Bytes expression, const Registers& registers, const StackCopy& stack,
                         std::optional<uint64_t> initial);

}  // namespace plimsoll::unwind
