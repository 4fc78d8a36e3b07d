#include "http/worker_threads.h"

#include <utility>

#include "base/time.h"

namespace plimsoll::http {
namespace {

// Of the newest job in the mean.
constexpr double kNewestShare = 1.0 / 64;

}  // namespace

WorkerThreads::WorkerThreads(unsigned threads) {
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

void WorkerThreads::add(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(job));
  changed_.notify_one();
}

int64_t WorkerThreads::pace_ns() const {
  const std::lock_guard lock(mutex_);
  return threads_.empty() ? 0 : static_cast<int64_t>(mean_job_ns_ / static_cast<double>(threads_.size()));
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
    lock.unlock();
    const int64_t start_ns = monotonic_now_ns();
    job();
    const auto took_ns = static_cast<double>(monotonic_now_ns() - start_ns);
    lock.lock();
    mean_job_ns_ = mean_job_ns_ == 0 ? took_ns : mean_job_ns_ + kNewestShare * (took_ns - mean_job_ns_);
  }
}

}  // namespace plimsoll::http
