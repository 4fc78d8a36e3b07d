// Threads for work that is too long for those that serve connections.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll::http {

// Any thread may call.
class WorkerThreads {
 public:
  explicit WorkerThreads(unsigned threads);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Does what is waiting, then ends the threads.
  ~WorkerThreads();

  // Jobs begin in the order in which they were added, and must not throw. How many may wait is for the caller to bound.
  void add(std::function<void()> job);

  // One job is done every so often while there are always some waiting, to judge by the newest hundred or so; 0: none was done yet.
  int64_t pace_ns() const;

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_, as are the next two
  double mean_job_ns_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::http
