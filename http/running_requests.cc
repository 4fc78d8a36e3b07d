#include "http/running_requests.h"

namespace plimsoll::http {

bool RunningRequests::begin_handler() {
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    return false;
  }
  ++in_handlers_;
  ++unfinished_;
  return true;
}

void RunningRequests::end_handler() {
  const std::lock_guard lock(mutex_);
  --in_handlers_;
  changed_.notify_all();
}

void RunningRequests::end_reply() {
  const std::lock_guard lock(mutex_);
  --unfinished_;
  changed_.notify_all();
}

bool RunningRequests::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void RunningRequests::stop(std::chrono::seconds reply_grace) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.wait(lock, [this] { return in_handlers_ == 0; });
  changed_.wait_for(lock, reply_grace, [this] { return unfinished_ == 0; });
}

}  // namespace plimsoll::http
