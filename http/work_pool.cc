#include "http/work_pool.h"

#include "base/time.h"

namespace plimsoll::http {

bool Places::take(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  if (free_ == 0) {
    return false;
  }
  if (!caller.empty()) {
    size_t& taken = taken_[caller];  // of a caller that has none there is room, since some are free
    if (taken >= free_) {
      return false;
    }
    ++taken;
  }
  --free_;
  return true;
}

void Places::give_back(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  ++free_;
  const auto of_caller = taken_.find(caller);
  if (of_caller != taken_.end() && --of_caller->second == 0) {
    taken_.erase(of_caller);
  }
}

bool Places::are_scarce() const {
  const std::lock_guard lock(mutex_);
  return free_ <= count_ / 2;
}

WorkPool::WorkPool(const Options& options)
    : places_(options.places), workers_(options.threads, options.nice) {}

int64_t WorkPool::next_turn_s() {
  return return_times_.next_s(monotonic_now_ns(), workers_.pace_ns());
}

}  // namespace plimsoll::http
