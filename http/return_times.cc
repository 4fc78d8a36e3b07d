#include "http/return_times.h"

#include <algorithm>

#include "base/time.h"

namespace plimsoll::http {

int64_t ReturnTimes::next_s(int64_t now_ns, int64_t pace_ns) {
  constexpr int64_t kMaxNs = kMaxSeconds * kNsPerSecond;
  const std::lock_guard lock(mutex_);
  const int64_t queue_ns = std::max<int64_t>(last_turn_ns_ - now_ns, 0);
  const int64_t wait_ns = std::min(queue_ns + std::clamp<int64_t>(pace_ns, 0, kMaxNs), kMaxNs);
  last_turn_ns_ = now_ns + wait_ns;
  return std::max<int64_t>((wait_ns + kNsPerSecond - 1) / kNsPerSecond, 1);
}

}  // namespace plimsoll::http
