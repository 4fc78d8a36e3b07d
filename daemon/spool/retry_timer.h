// When to ask a server again. Where it failed, pauses grow, and are random so that machines do not ask all at once.
#pragma once

#include <cstdint>
#include <random>

#include "base/time.h"

namespace plimsoll::spool {

inline constexpr int64_t kFirstRetryNs = 200'000'000;  // half of it to all of it
inline constexpr int64_t kLongestRetryNs = 30 * kNsPerSecond;
// No server silences a daemon for longer, whatever it asks for.
inline constexpr int64_t kLongestAskedRetryNs = 300 * kNsPerSecond;

// One thread. Times are monotonic.
class RetryTimer {
 public:
  explicit RetryTimer(uint64_t seed) : random_(seed) {}

  // The next attempt is due at once.
  void succeeded();
  // Each failure in a row doubles the pause, up to kLongestRetryNs.
  void failed(int64_t now_ns);
  // The server asked for a pause, whatever came of the attempt.
  void asked_to_wait(int64_t now_ns, int64_t asked_ns);
  // Leaves a later time as it is.
  void not_before(int64_t time_ns);

  int64_t due_ns() const { return due_ns_; }

 private:
  std::mt19937_64 random_;
  int failures_ = 0;  // in a row
  int64_t due_ns_ = 0;
};

}  // namespace plimsoll::spool
