// When bursts are: windows of wall-clock time in which every layer of every machine records everything (docs/bursts.md).
//
// A burst-config is a number, (1)m(0)n in binary. It is a burst while `config & wall_ms == config`: the last 2^n ms of each
// 2^(n+m) ms. So machines and programs that know the number record at the same time without exchanging a message. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::traces {

// In ms since 1970: [begin, end).
struct BurstTimes {
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  auto operator<=>(const BurstTimes&) const = default;
};

class BurstConfig {
 public:
  // Of m: one millionth of the time. Of n: bursts of 17 minutes.
  static constexpr uint32_t kMaxShareBits = 20;
  static constexpr uint32_t kMaxLengthBits = 20;

  // m ones and n zeros, m from 1 to kMaxShareBits, n up to kMaxLengthBits. kInvalid otherwise.
  static Result<BurstConfig> of(uint32_t ones, uint32_t zeros);
  // From the number itself. kInvalid where it is not (1)m(0)n, or out of these limits.
  static Result<BurstConfig> of_bits(uint64_t bits);
  // "7,8": m and n in decimal.
  static Result<BurstConfig> parse(std::string_view text);

  uint64_t bits() const { return ((uint64_t{1} << ones_) - 1) << zeros_; }
  uint32_t ones() const { return ones_; }
  uint32_t zeros() const { return zeros_; }
  int64_t length_ms() const { return int64_t{1} << zeros_; }
  int64_t period_ms() const { return int64_t{1} << (ones_ + zeros_); }
  // Of the time: 2^-m.
  double share() const { return 1.0 / static_cast<double>(int64_t{1} << ones_); }

  bool is_burst(int64_t wall_ms) const { return (static_cast<uint64_t>(wall_ms) & bits()) == bits(); }
  // The burst that wall_ms is in, else the next one. After a clock step ask again.
  BurstTimes burst_at_or_after(int64_t wall_ms) const;

  // "7,8"
  std::string text() const;

  bool operator==(const BurstConfig&) const = default;

 private:
  BurstConfig(uint32_t ones, uint32_t zeros) : ones_(ones), zeros_(zeros) {}

  uint32_t ones_;
  uint32_t zeros_;
};

}  // namespace plimsoll::traces
