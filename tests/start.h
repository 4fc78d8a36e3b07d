// Times at which what tests tell may begin.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace plimsoll::testing {

inline constexpr int64_t kStartNs = 1'800'000'000 * kNsPerSecond;  // 2027-01-15T08:00:00Z
inline constexpr int64_t kNoonNs = 1'700'049'600 * kNsPerSecond;   // 2023-11-15T12:00:00Z

}  // namespace plimsoll::testing
