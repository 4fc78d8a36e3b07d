#include "http/worker_threads.h"

#include <climits>
#include <utility>

#include "base/time.h"

namespace plimsoll::http {
namespace {

// Of the newest job in the mean.
constexpr double kNewestShare = 1.0 / 64;

// Whose last turn is remembered, beside those that have a job under way.
constexpr size_t kMostCallers = 1000;

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
  waiting_.push_back({std::move(job), std::move(group)});
  changed_.notify_one();
}

std::deque<WorkerThreads::Job>::iterator WorkerThreads::next() {
  auto best = waiting_.end();
  CallersTurn best_turn{UINT_MAX, 0};
  for (auto job = waiting_.begin(); job != waiting_.end() && best_turn != CallersTurn(); ++job) {
    const auto of_group = running_.find(job->group.name);
    const bool has_room = job->group.most_at_once == 0 || of_group == running_.end() ||
                          of_group->second < job->group.most_at_once;
    const auto of_caller = job->group.caller.empty() ? callers_.end() : callers_.find(job->group.caller);
    const CallersTurn turn = of_caller == callers_.end() ? CallersTurn() : of_caller->second;
    if (has_room && turn < best_turn) {
      best = job;
      best_turn = turn;
    }
  }
  return best;
}

void WorkerThreads::begin(const WorkGroup& group) {
  ++running_[group.name];
  if (callers_.size() >= kMostCallers) {
    std::erase_if(callers_, [](const auto& entry) { return entry.second.running == 0; });
  }
  CallersTurn& turn = callers_[group.caller];
  ++turn.running;
  turn.served = ++served_;
}

void WorkerThreads::end(const WorkGroup& group) {
  if (--running_[group.name] == 0) {
    running_.erase(group.name);
  }
  --callers_[group.caller].running;
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
    begin(job.group);
    lock.unlock();
    const int64_t start_ns = monotonic_now_ns();
    job.run();
    const auto took_ns = static_cast<double>(monotonic_now_ns() - start_ns);
    lock.lock();
    end(job.group);
    // One that waited for room in its group may begin, and at the end all have to see that nothing is left.
    changed_.notify_all();
    mean_job_ns_ = mean_job_ns_ == 0 ? took_ns : mean_job_ns_ + kNewestShare * (took_ns - mean_job_ns_);
  }
}

}  // namespace plimsoll::http
