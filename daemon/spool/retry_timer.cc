#include "daemon/spool/retry_timer.h"

#include <algorithm>

namespace plimsoll::spool {

void RetryTimer::succeeded() {
  failures_ = 0;
  due_ns_ = 0;
}

void RetryTimer::failed(int64_t now_ns) {
  constexpr int kMaxDoublings = 10;
  const int64_t longest_ns = std::min(kLongestRetryNs, kFirstRetryNs << std::min(failures_, kMaxDoublings));
  due_ns_ = now_ns + std::uniform_int_distribution<int64_t>(longest_ns / 2, longest_ns)(random_);
  ++failures_;
}

void RetryTimer::asked_to_wait(int64_t now_ns, int64_t asked_ns) {
  if (asked_ns > 0) {
    not_before(now_ns + std::min(asked_ns, kLongestAskedRetryNs));
  }
}

void RetryTimer::not_before(int64_t time_ns) {
  due_ns_ = std::max(due_ns_, time_ns);
}

}  // namespace plimsoll::spool
