// The registers of x86-64 that stacks are unwound with, by their DWARF numbers (System V psABI for x86-64, figure 3.36).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace plimsoll::unwind {

inline constexpr size_t kRegisters = 17;
inline constexpr uint8_t kRbp = 6;
inline constexpr uint8_t kRsp = 7;
inline constexpr uint8_t kRip = 16;  // the return address column

// What is known of a frame's registers: callee-saved ones usually, others until a call overwrites them.
class Registers {
 public:
  bool knows(uint64_t number) const { return number < kRegisters && (known_ >> number & 1U) != 0; }
  uint64_t operator[](uint64_t number) const { return values_[number]; }
  void set(uint64_t number, uint64_t value) {
    values_[number] = value;
    known_ |= 1U << number;
  }
  void forget(uint64_t number) { known_ &= ~(1U << number); }

 private:
  std::array<uint64_t, kRegisters> values_{};
  uint32_t known_ = 0;
};

// PERF_SAMPLE_REGS_USER for `mask` (sample_regs_user, bits of enum perf_event_x86_regs): a value for each bit, from the
// lowest on. Registers that are no part of unwinding are left out.
Registers registers_from_perf(uint64_t mask, std::span<const uint64_t> values);

}  // namespace plimsoll::unwind
