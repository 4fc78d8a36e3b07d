// All that the server does in the background.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "server/background/background_task.h"

namespace plimsoll::server {

// The server's tasks: starts them, wakes them, stops them in order, and lists how they are doing. Any thread, but stop().
class BackgroundWork {
 public:
  explicit BackgroundWork(WorkClocks clocks = {}) : clocks_(std::move(clocks)) {}
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  ~BackgroundWork() { stop(); }

  // At most one task of a kind. A task that wakes another one, or needs what another one does, is started after it. The task is there as
  // long as this object.
  BackgroundTask& start(const WorkKind& kind, BackgroundTask::Pass pass);

  // Nothing to wake is fine: the first pass of a task comes by itself.
  void wake(const WorkKind& kind);

  // Stops all tasks, those that were started last first. May be called again.
  void stop();

  // In the order in which they were started.
  std::vector<query::BackgroundWorkHealth> all() const;

 private:
  const WorkClocks clocks_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<BackgroundTask>> tasks_;  // grows; protected by mutex_
};

}  // namespace plimsoll::server
