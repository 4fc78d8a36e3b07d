// When requests began.
#pragma once

#include <cstdint>

namespace plimsoll::query {

struct RequestTimes {
  int64_t from_ns = 0;
  int64_t to_ns = INT64_MAX;
  bool has(int64_t time_ns) const { return time_ns >= from_ns && time_ns < to_ns; }
};

}  // namespace plimsoll::query
