#include "http/worker_threads.h"

#include <utility>

namespace plimsoll::http {

WorkerThreads::WorkerThreads(unsigned threads, size_t most_jobs) : most_jobs_(most_jobs) {
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

bool WorkerThreads::has_room() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + working_ < most_jobs_;
}

bool WorkerThreads::add(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() + working_ >= most_jobs_) {
    return false;
  }
  waiting_.push_back(std::move(job));
  changed_.notify_one();
  return true;
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const std::function<void()> job = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    job();
    lock.lock();
    --working_;
  }
}

}  // namespace plimsoll::http
