// Times as the tables of `plimsoll sql` write them.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace plimsoll::query {

// RFC 3339 in UTC, down to the second. Fractions would not sort as text: ".5Z" stands before "Z".
inline std::string time_text(int64_t wall_ns) {
  const int64_t fraction = (wall_ns % kNsPerSecond + kNsPerSecond) % kNsPerSecond;
  return format_time(wall_ns - fraction);
}

}  // namespace plimsoll::query
