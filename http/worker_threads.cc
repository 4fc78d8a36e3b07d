#include "http/worker_threads.h"

#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <new>
#include <utility>

#include "base/time.h"

namespace plimsoll::http {
namespace {

// Of the newest job in the mean.
constexpr double kNewestShare = 1.0 / 64;

// Whose last turn is remembered, beside those that have a job under way.
constexpr size_t kMaxCallers = 1000;

}  // namespace

WorkerThreads::WorkerThreads(const Options& options)
    : max_running_of_caller_(options.max_running_of_caller == 0 ? UINT_MAX : options.max_running_of_caller) {
  for (unsigned i = 0; i < options.threads; ++i) {
    threads_.emplace_back([this, nice = options.nice] {
      const auto thread = static_cast<id_t>(::gettid());  // Linux has a priority for each thread
      ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + nice);
      work();
    });
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

void WorkerThreads::add(Job job) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(job));
  changed_.notify_one();
}

void WorkerThreads::run_abandoned() {
  std::list<Job> abandoned;  // without memory of its own: there may be none
  {
    const std::lock_guard lock(mutex_);
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      const auto next = std::next(job);
      if (job->is_abandoned && job->is_abandoned()) {
        abandoned.splice(abandoned.end(), waiting_, job);
      }
      job = next;
    }
  }
  for (const Job& job : abandoned) {
    job.run();
  }
}

size_t WorkerThreads::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

size_t WorkerThreads::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::list<WorkerThreads::Job>::iterator WorkerThreads::next() {
  auto best = waiting_.end();
  CallersTurn best_turn{UINT_MAX, 0};
  for (auto job = waiting_.begin(); job != waiting_.end() && best_turn != CallersTurn(); ++job) {
    const auto of_caller = job->caller.empty() ? callers_.end() : callers_.find(job->caller);
    const CallersTurn turn = of_caller == callers_.end() ? CallersTurn() : of_caller->second;
    const bool may_begin = turn.running < max_running_of_caller_ || job->caller.empty() || is_ending_;
    if (may_begin && turn < best_turn) {
      best = job;
      best_turn = turn;
    }
  }
  return best;
}

bool WorkerThreads::begin(const std::string& caller) noexcept {
  if (callers_.size() >= kMaxCallers) {
    std::erase_if(callers_, [](const auto& entry) { return entry.second.running == 0; });
  }
  try {
    CallersTurn& turn = callers_[caller];
    ++turn.running;
    turn.served = ++served_;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void WorkerThreads::end(const std::string& caller) {
  --callers_[caller].running;
}

int64_t WorkerThreads::pace_ns() const {
  const std::lock_guard lock(mutex_);
  return threads_.empty() ? 0 : static_cast<int64_t>(mean_job_ns_ / static_cast<double>(threads_.size()));
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto first = waiting_.end();
    changed_.wait(lock, [&] {
      first = next();
      return is_ending_ || first != waiting_.end();
    });
    if (first == waiting_.end()) {
      return;
    }
    const Job job = std::move(*first);
    waiting_.erase(first);
    const bool is_counted = begin(job.caller);
    ++running_;
    lock.unlock();
    const int64_t start_ns = monotonic_now_ns();
    job.run();
    const auto took_ns = static_cast<double>(monotonic_now_ns() - start_ns);
    lock.lock();
    --running_;
    if (is_counted) {
      end(job.caller);
    }
    mean_job_ns_ = mean_job_ns_ == 0 ? took_ns : mean_job_ns_ + kNewestShare * (took_ns - mean_job_ns_);
  }
}

}  // namespace plimsoll::http
