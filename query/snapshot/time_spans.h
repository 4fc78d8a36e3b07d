// Times that a question is about.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plimsoll::query {

// Wall clock, without its end.
struct TimeSpan {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
};

// At least one; they may overlap.
using TimeSpans = std::vector<TimeSpan>;

inline TimeSpans all_times() {
  return {TimeSpan()};
}

// Whether anything from `from_ns` to `to_ns`, its end included, lies in one of them or so near to one.
inline bool touches(const TimeSpans& times, int64_t from_ns, int64_t to_ns, int64_t near_ns) {
  return std::ranges::any_of(times, [&](const TimeSpan& span) {
    // The bounds of a span may be the least and the greatest number.
    return from_ns <= to_ns && from_ns - near_ns < span.to_ns && to_ns + near_ns >= span.from_ns;
  });
}

}  // namespace plimsoll::query
