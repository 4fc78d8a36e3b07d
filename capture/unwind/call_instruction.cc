#include "capture/unwind/call_instruction.h"

#include <algorithm>

namespace plimsoll::unwind {
namespace {

constexpr uint8_t kCallRelative = 0xe8;
constexpr size_t kCallRelativeBytes = 5;
constexpr uint8_t kGroup5 = 0xff;  // of which ModRM.reg 2 is an indirect near call
constexpr uint8_t kIndirectCall = 2;

// Of an instruction of one opcode byte with this ModRM and the byte after it; prefixes do not count.
size_t instruction_bytes(uint8_t mod_rm, uint8_t sib) {
  const unsigned mode = mod_rm >> 6U;
  const unsigned rm = mod_rm & 7U;
  const bool has_sib = mode != 3 && rm == 4;
  const bool has_bare_displacement = mode == 0 && (rm == 5 || (has_sib && (sib & 7U) == 5));
  const size_t displacement = mode == 1 ? 1 : mode == 2 || has_bare_displacement ? 4 : 0;
  return 2 + (has_sib ? 1 : 0) + displacement;
}

}  // namespace

CallsAtEnd calls_at_end(Bytes code) {
  CallsAtEnd calls;
  const auto from_end = [&](size_t bytes) { return static_cast<uint8_t>(code[code.size() - bytes]); };
  if (code.size() >= kCallRelativeBytes && from_end(kCallRelativeBytes) == kCallRelative) {
    calls.displacement = ByteReader(code.last(sizeof(int32_t))).read<int32_t>();
  }
  for (size_t bytes = 2; bytes <= std::min(kLongestCallBytes, code.size()); ++bytes) {
    const uint8_t mod_rm = from_end(bytes - 1);
    const uint8_t sib = bytes > 2 ? from_end(bytes - 2) : uint8_t{0};
    calls.is_indirect =
        calls.is_indirect || (from_end(bytes) == kGroup5 && (mod_rm >> 3U & 7U) == kIndirectCall &&
                              instruction_bytes(mod_rm, sib) == bytes);
  }
  return calls;
}

}  // namespace plimsoll::unwind
