#include "traces/bursts/burst_config.h"

#include <bit>
#include <charconv>
#include <optional>

namespace plimsoll::traces {
namespace {

std::optional<uint32_t> number_of(std::string_view text) {
  uint32_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<BurstConfig> BurstConfig::of(uint32_t ones, uint32_t zeros) {
  if (ones < 1 || ones > kMaxShareBits || zeros > kMaxLengthBits) {
    return with_hint(fail(ErrorCode::kInvalid, "no burst-config has m = {} and n = {}", ones, zeros),
                     fmt::format("m must be 1 to {} and n 0 to {}: bursts of 2^n ms in every 2^(m+n) ms",
                                 kMaxShareBits, kMaxLengthBits));
  }
  return BurstConfig(ones, zeros);
}

Result<BurstConfig> BurstConfig::of_bits(uint64_t bits) {
  const auto zeros = static_cast<uint32_t>(std::countr_zero(bits));
  const auto ones = static_cast<uint32_t>(std::popcount(bits));
  // All ones stand together where as many of them follow the zeros as there are.
  if (bits == 0 || static_cast<uint32_t>(std::countr_one(bits >> zeros)) != ones) {
    return fail(ErrorCode::kInvalid, "{:#x} is no burst-config: ones, then zeros, in binary", bits);
  }
  return of(ones, zeros);
}

Result<BurstConfig> BurstConfig::parse(std::string_view text) {
  const size_t comma = text.find(',');
  const auto ones = number_of(text.substr(0, comma));
  const auto zeros = comma == std::string_view::npos ? std::nullopt : number_of(text.substr(comma + 1));
  if (!ones || !zeros) {
    return with_hint(
        fail(ErrorCode::kInvalid, "\"{}\" is no burst-config", text),
        "write M,N, such as 7,8 for 256 ms in every 32.768 s; \"plimsoll bursts plan\" proposes one");
  }
  return of(*ones, *zeros);
}

BurstTimes BurstConfig::burst_at_or_after(int64_t wall_ms) const {
  // Rounds down to a multiple of the period, also before 1970.
  const int64_t period_begin = wall_ms & ~(period_ms() - 1);
  const int64_t end = period_begin + period_ms();
  return {end - length_ms(), end};
}

std::string BurstConfig::text() const {
  return fmt::format("{},{}", ones_, zeros_);
}

}  // namespace plimsoll::traces
