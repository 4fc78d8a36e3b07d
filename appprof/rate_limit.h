// How often something may happen.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll::appprof {

// So many at once, and so many a minute later. One thread.
class RateLimit {
 public:
  RateLimit(uint32_t per_minute, int64_t now_ns)
      : per_ns_(per_minute / 60e9), max_(per_minute / 2.0 + 1), left_(max_), at_ns_(now_ns) {}
  bool take(int64_t now_ns) {
    left_ = std::min(max_, left_ + static_cast<double>(now_ns - at_ns_) * per_ns_);
    at_ns_ = now_ns;
    if (left_ < 1) {
      return false;
    }
    left_ -= 1;
    return true;
  }

 private:
  const double per_ns_;
  const double max_;
  double left_;
  int64_t at_ns_;
};

}  // namespace plimsoll::appprof
