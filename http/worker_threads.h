// Threads for work that is too long for those that serve connections.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll::http {

// Any thread may call.
class WorkerThreads {
 public:
  // `most_jobs` wait or are worked on at once.
  WorkerThreads(unsigned threads, size_t most_jobs);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Does what is waiting, then ends the threads.
  ~WorkerThreads();

  bool has_room() const;
  // Jobs begin in the order in which they were added, and must not throw. False: there is no room, and nothing was added.
  bool add(std::function<void()> job);

 private:
  void work();

  const size_t most_jobs_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_, as are the next two
  size_t working_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::http
