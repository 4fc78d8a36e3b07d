// Calls in code: what shows that a word on the stack is a return address.
#pragma once

#include <cstdint>
#include <optional>

#include "base/byte_reader.h"

namespace plimsoll::unwind {

// The longest near call: opcode, ModRM, SIB and four bytes of displacement.
inline constexpr size_t kLongestCallBytes = 7;

// The near calls that x86-64 code can end with (Intel SDM, volume 2, "CALL"). An instruction's tail may look like a call, so
// that this is evidence, not proof.
struct CallsAtEnd {
  std::optional<int32_t> displacement = {};  // of a relative call, from the end of the code
  bool is_indirect = false;
};

// What comes before the last kLongestCallBytes does not matter.
CallsAtEnd calls_at_end(Bytes code);

}  // namespace plimsoll::unwind
