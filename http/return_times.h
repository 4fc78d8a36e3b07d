// When clients that were turned away are to come back.
#pragma once

#include <cstdint>
#include <mutex>

namespace plimsoll::http {

// Gives out turns at the pace at which requests are served, so that no more clients come back in a second than can be served then,
// however many were turned away at once. Any thread may call; a turn costs one lock.
class ReturnTimes {
 public:
  // The longest wait that is returned.
  static constexpr int64_t kMaxSeconds = 60;

  // For how many whole seconds, at least one, a client waits that is turned away at `now_ns` (of a clock that only goes forward), where a
  // request is served every `pace_ns`.
  int64_t next_s(int64_t now_ns, int64_t pace_ns);

 private:
  std::mutex mutex_;
  int64_t last_turn_ns_ = 0;  // guarded by mutex_
};

}  // namespace plimsoll::http
