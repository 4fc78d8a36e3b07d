#include "daemon/scrape/target_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace plimsoll::scrape {

bool TargetQueue::add(const std::shared_ptr<ScrapeTarget>& target) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(target->busy, true)) {
      return false;
    }
    waiting_.push_back(target);
  }
  changed_.notify_one();
  return true;
}

std::shared_ptr<ScrapeTarget> TargetQueue::take_locked() {
  const size_t places_for_failed = std::max<size_t>(places_, 2) - 1;
  const auto next = std::ranges::find_if(waiting_, [&](const std::shared_ptr<ScrapeTarget>& target) {
    return !programs_.contains(target->program) && (!target->failed || failing_ < places_for_failed);
  });
  if (next == waiting_.end()) {
    return nullptr;
  }
  std::shared_ptr<ScrapeTarget> target = std::move(*next);
  waiting_.erase(next);
  programs_.insert(target->program);
  failing_ += target->failed ? 1 : 0;
  return target;
}

std::shared_ptr<ScrapeTarget> TargetQueue::take() {
  std::shared_ptr<ScrapeTarget> target;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || (target = take_locked()) != nullptr; });
  return target;
}

void TargetQueue::give_back(ScrapeTarget& target, bool failed) {
  {
    const std::lock_guard lock(mutex_);
    programs_.erase(target.program);
    failing_ -= target.failed ? 1 : 0;
    target.failed = failed;
    target.busy = false;
  }
  // A program's other profiles and several that failed may have waited for this.
  changed_.notify_all();
}

void TargetQueue::abandon(ScrapeTarget& target) {
  const std::lock_guard lock(mutex_);
  target.abandoned = true;
  if (std::erase_if(waiting_, [&](const auto& other) { return other.get() == &target; }) != 0) {
    target.busy = false;
  }
}

bool TargetQueue::is_abandoned(const ScrapeTarget& target) const {
  const std::lock_guard lock(mutex_);
  return target.abandoned;
}

bool TargetQueue::wait_for(const std::vector<std::shared_ptr<ScrapeTarget>>& targets, int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  const auto are_done = [&] {
    return std::ranges::none_of(targets, [](const std::shared_ptr<ScrapeTarget>& t) { return t->busy; });
  };
  changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] { return stopped_ || are_done(); });
  return are_done();
}

void TargetQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace plimsoll::scrape
