#include "http/work_pool.h"

#include "base/time.h"

namespace plimsoll::http {
namespace {

// A look asks the kernel about each request that waits, which a flood of requests must not have it do for each of them.
constexpr int64_t kBetweenLooksNs = kNsPerSecond / 10;

}  // namespace

Places::Taken Places::take(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  if (free_ == 0) {
    return Taken::kNoneIsFree;
  }
  if (!caller.empty()) {
    size_t& taken = taken_[caller];  // of a caller that has none there is room, since some are free
    if (taken >= free_) {
      return Taken::kCallerHasItsShare;
    }
    ++taken;
  }
  --free_;
  return Taken::kYes;
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
    : places_(options.places),
      workers_({.threads = options.threads,
                .nice = options.nice,
                .max_running_of_caller = options.max_running_of_caller}) {}

Places::Taken WorkPool::take_place(const std::string& caller) {
  Places::Taken taken = places_.take(caller);
  const int64_t now_ns = taken == Places::Taken::kYes ? 0 : monotonic_now_ns();
  int64_t look_ns = next_look_ns_;
  if (taken != Places::Taken::kYes && now_ns >= look_ns &&
      next_look_ns_.compare_exchange_strong(look_ns, now_ns + kBetweenLooksNs)) {
    workers_.run_abandoned();
    taken = places_.take(caller);
  }
  refused_ += taken == Places::Taken::kYes ? 0 : 1;
  return taken;
}

WorkCounts WorkPool::counts() const {
  return {.waiting = workers_.waiting(),
          .running = workers_.running(),
          .refused = refused_,
          .cancelled = cancelled_};
}

int64_t WorkPool::next_turn_s() {
  return return_times_.next_s(monotonic_now_ns(), workers_.pace_ns());
}

}  // namespace plimsoll::http
