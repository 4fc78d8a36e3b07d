#include "http/worker_threads.h"

#include <algorithm>
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

void WorkerThreads::add(std::function<void()> job, WorkGroup group) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(job), group});
  changed_.notify_one();
}

std::deque<WorkerThreads::Job>::iterator WorkerThreads::next() {
  return std::ranges::find_if(waiting_, [this](const Job& job) {
    const auto running = running_.find(job.group.name);
    return job.group.most_at_once == 0 || running == running_.end() ||
           running->second < job.group.most_at_once;
  });
}

int64_t WorkerThreads::pace_ns() const {
  const std::lock_guard lock(mutex_);
  return threads_.empty() ? 0 : static_cast<int64_t>(mean_job_ns_ / static_cast<double>(threads_.size()));
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return next() != waiting_.end() || (is_ending_ && waiting_.empty()); });
    const auto first = next();
    if (first == waiting_.end()) {
      return;
    }
    const Job job = std::move(*first);
    waiting_.erase(first);
    ++running_[job.group.name];
    lock.unlock();
    const int64_t start_ns = monotonic_now_ns();
    job.run();
    const auto took_ns = static_cast<double>(monotonic_now_ns() - start_ns);
    lock.lock();
    if (--running_[job.group.name] == 0) {
      running_.erase(job.group.name);
    }
    // One that waited for room in its group may begin, and at the end all have to see that nothing is left.
    changed_.notify_all();
    mean_job_ns_ = mean_job_ns_ == 0 ? took_ns : mean_job_ns_ + kNewestShare * (took_ns - mean_job_ns_);
  }
}

}  // namespace plimsoll::http
