#include "daemon/spool/retry_timer.h"

#include <algorithm>

namespace plimsoll::spool {

void RetryTimer::succeeded(int64_t now_ns, int64_t asked_ns) {
  failures_ = 0;
  due_ns_ = asked_ns == 0 ? 0 : now_ns + std::min(asked_ns, kLongestAskedRetryNs);
}

void RetryTimer::failed(int64_t now_ns, int64_t asked_ns) {
  constexpr int kMostDoublings = 10;
  const int64_t longest_ns = std::min(kLongestRetryNs, kFirstRetryNs << std::min(failures_, kMostDoublings));
  const int64_t pause_ns = std::uniform_int_distribution<int64_t>(longest_ns / 2, longest_ns)(random_);
  due_ns_ = now_ns + std::max(pause_ns, std::min(asked_ns, kLongestAskedRetryNs));
  ++failures_;
}

void RetryTimer::not_before(int64_t time_ns) {
  due_ns_ = std::max(due_ns_, time_ns);
}

}  // namespace plimsoll::spool
