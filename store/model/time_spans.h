// Times that a question is about.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plimsoll::store {

// Wall clock, without its end.
struct TimeSpan {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;

  bool operator==(const TimeSpan&) const = default;
};

// At least one; they may overlap.
using TimeSpans = std::vector<TimeSpan>;

inline TimeSpans all_times() {
  return {TimeSpan()};
}

// Whether anything from `from_ns` to `to_ns`, its end included, lies in one of them or so near to one; near_ns: 0 or more.
inline bool touches(const TimeSpans& times, int64_t from_ns, int64_t to_ns, int64_t near_ns) {
  // Both may be any numbers: who sent the profiles has said them.
  const int64_t first_ns = from_ns < INT64_MIN + near_ns ? INT64_MIN : from_ns - near_ns;
  const int64_t last_ns = to_ns > INT64_MAX - near_ns ? INT64_MAX : to_ns + near_ns;
  return from_ns <= to_ns && std::ranges::any_of(times, [&](const TimeSpan& span) {
           return first_ns < span.to_ns && last_ns >= span.from_ns;
         });
}

// By how far the window of a profile may miss the interval of its draw, at either end. Daemons correct what is over 5 s.
inline constexpr int64_t kWindowToleranceNs = int64_t{60} * 1'000'000'000;

// How far from the window of a profile others of its draw may be, for touches(); of draws that speak for so long, 0: there is no draw.
inline int64_t distance_within_draw_ns(int64_t max_interval_ns) {
  const int64_t interval_ns = std::min(max_interval_ns, INT64_MAX - 2 * kWindowToleranceNs);
  return interval_ns <= 0 ? 0 : interval_ns + 2 * kWindowToleranceNs;
}

}  // namespace plimsoll::store
