#include "traces/bursts/burst_plan.h"

#include <algorithm>

namespace plimsoll::traces {
namespace {

// Ardelean, Diwan, Erdman: Performance Analysis of Cloud Applications (NSDI 2018) has at least ten.
constexpr double kRequestsPerBurst = 10;
// Two machines that are off in opposite directions then disagree by a tenth of a burst at most.
constexpr double kClockErrorsPerBurst = 20;
constexpr double kMsPerDay = 24.0 * 60 * 60 * 1000;

bool fits(const BurstQuestion& question, double burst_ms) {
  return burst_ms - 2 * question.clock_error_ms >= kRequestsPerBurst * question.request_ms &&
         burst_ms >= kClockErrorsPerBurst * question.clock_error_ms;
}

Status check(const BurstQuestion& question) {
  // Written so that NaN fails, too.
  if (!(question.request_ms > 0)) {
    return fail(ErrorCode::kInvalid, "the duration of a request must be over 0 ms, not {}",
                question.request_ms);
  }
  const bool is_part = question.max_share > 0 && question.max_share < 1;
  if (!is_part) {
    return fail(ErrorCode::kInvalid, "the share of time must be over 0 % and under 100 %, not {} %",
                question.max_share * 100);
  }
  if (!(question.clock_error_ms >= 0)) {
    return fail(ErrorCode::kInvalid, "the clock error must be at least 0 ms, not {}",
                question.clock_error_ms);
  }
  return {};
}

}  // namespace

double whole_share(double burst_ms, double request_ms, double clock_error_ms) {
  const double lost_ms = request_ms + 2 * clock_error_ms;
  return std::max(0.0, burst_ms - lost_ms) / (burst_ms + lost_ms);
}

Result<BurstPlan> plan_bursts(const BurstQuestion& question) {
  if (const Status checked = check(question); !checked) {
    return propagate(checked);
  }
  uint32_t zeros = 0;
  while (zeros <= BurstConfig::kMaxLengthBits && !fits(question, static_cast<double>(int64_t{1} << zeros))) {
    ++zeros;
  }
  uint32_t ones = 1;
  while (ones <= BurstConfig::kMaxShareBits &&
         1 / static_cast<double>(int64_t{1} << ones) > question.max_share) {
    ++ones;
  }
  if (zeros > BurstConfig::kMaxLengthBits) {
    constexpr double kMaxMs = int64_t{1} << BurstConfig::kMaxLengthBits;
    return with_hint(
        fail(ErrorCode::kInvalid, "no burst is long enough for requests of {} ms and clocks within {} ms",
             question.request_ms, question.clock_error_ms),
        fmt::format(
            "bursts last up to {:.0f} s, at least ten times as long as a request and twenty times the "
            "clock error",
            kMaxMs / 1000));
  }
  if (ones > BurstConfig::kMaxShareBits) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{} % of the time is too little for bursts", question.max_share * 100),
        fmt::format("the minimum is 2^-{} of the time", BurstConfig::kMaxShareBits));
  }
  const auto config = BurstConfig::of(ones, zeros);
  if (!config) {
    return propagate(config);
  }
  const auto burst_ms = static_cast<double>(config->length_ms());
  return BurstPlan{
      .config = *config,
      .shared_ms = burst_ms - 2 * question.clock_error_ms,
      .whole_share = whole_share(burst_ms, question.request_ms, question.clock_error_ms),
      .bursts_per_day = kMsPerDay / static_cast<double>(config->period_ms()),
  };
}

}  // namespace plimsoll::traces
