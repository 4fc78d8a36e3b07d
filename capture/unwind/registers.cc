#include "capture/unwind/registers.h"

#include <bit>

namespace plimsoll::unwind {
namespace {

constexpr uint8_t kNone = 0xff;

// By enum perf_event_x86_regs (asm/perf_regs.h of x86): ax, bx, cx, dx, si, di, bp, sp, ip, flags, cs, ss, ds, es, fs,
// gs, r8 to r15.
constexpr std::array<uint8_t, 24> kDwarfNumber{0,  3,     2,     1,     4,     5,     6,     7,
                                               16, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
                                               8,  9,     10,    11,    12,    13,    14,    15};

}  // namespace

Registers registers_from_perf(uint64_t mask, std::span<const uint64_t> values) {
  Registers registers;
  size_t next = 0;
  for (uint64_t rest = mask; rest != 0 && next < values.size(); rest &= rest - 1, ++next) {
    const auto bit = static_cast<size_t>(std::countr_zero(rest));
    if (bit < kDwarfNumber.size() && kDwarfNumber[bit] != kNone) {
      registers.set(kDwarfNumber[bit], values[next]);
    }
  }
  return registers;
}

}  // namespace plimsoll::unwind
