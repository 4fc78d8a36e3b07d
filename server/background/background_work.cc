#include "server/background/background_work.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace plimsoll::server {

BackgroundTask& BackgroundWork::start(const WorkKind& kind, BackgroundTask::Pass pass) {
  const std::lock_guard lock(mutex_);
  return *tasks_.emplace_back(std::make_unique<BackgroundTask>(kind, std::move(pass), clocks_));
}

void BackgroundWork::wake(const WorkKind& kind) {
  const std::lock_guard lock(mutex_);
  const auto task = std::ranges::find(tasks_, kind.name, [](const auto& one) { return one->name(); });
  if (task != tasks_.end()) {
    (*task)->wake();
  }
}

void BackgroundWork::stop() {
  std::vector<BackgroundTask*> tasks;
  {
    // A pass that is waited for may wake other tasks.
    const std::lock_guard lock(mutex_);
    std::ranges::transform(tasks_, std::back_inserter(tasks), [](const auto& task) { return task.get(); });
  }
  for (BackgroundTask* const task : std::views::reverse(tasks)) {
    task->stop();
  }
}

std::vector<query::BackgroundWorkHealth> BackgroundWork::all() const {
  std::vector<query::BackgroundWorkHealth> all;
  const std::lock_guard lock(mutex_);
  for (const auto& task : tasks_) {
    all.push_back(task->health());
  }
  return all;
}

}  // namespace plimsoll::server
