#include "daemon/group_counts/scaled_count.h"

#include <cstdint>

namespace plimsoll {
namespace {

constexpr double kMinRunningShare = 0.01;
constexpr double kMaxUnseenShare = 0.01;
constexpr auto kLargestValue = static_cast<double>(uint64_t{1} << 53);

}  // namespace

std::optional<ScaledCount> scaled_count(std::span<const perf::CounterValues> before,
                                        std::span<const perf::CounterValues> after) {
  ScaledCount sum;
  double seen_ns = 0;
  for (size_t i = 0; i < before.size() && i < after.size(); ++i) {
    const auto enabled_ns = static_cast<double>(after[i].time_enabled_ns - before[i].time_enabled_ns);
    const auto running_ns = static_cast<double>(after[i].time_running_ns - before[i].time_running_ns);
    sum.time_enabled_ns += enabled_ns;
    sum.time_running_ns += running_ns;
    if (running_ns > 0 && running_ns >= kMinRunningShare * enabled_ns) {
      sum.value += static_cast<double>(after[i].value - before[i].value) * (enabled_ns / running_ns);
      seen_ns += enabled_ns;
    }
  }
  if (before.empty() || seen_ns < (1 - kMaxUnseenShare) * sum.time_enabled_ns) {
    return std::nullopt;
  }
  sum.value *= seen_ns > 0 ? sum.time_enabled_ns / seen_ns : 1;
  return sum.value < kLargestValue ? std::optional(sum) : std::nullopt;
}

}  // namespace plimsoll
