// Threads for work that is too long for those that serve connections.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll::http {

// Any thread may call.
class WorkerThreads {
 public:
  // `nice` (not negative) is added to that of the process, for the threads and for those that their jobs start.
  explicit WorkerThreads(unsigned threads, int nice = 0);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Does what is waiting, then ends the threads.
  ~WorkerThreads();

  // Jobs of one caller begin in the order in which they were added. Callers of whom fewer jobs are being done, or who were served
  // longer ago, go first, so that no caller waits behind hundreds of jobs of another. An empty caller: all jobs that say none stand
  // in one line. Jobs must not throw. How many may wait is for the function that adds them to bound.
  void add(std::function<void()> job, std::string caller = {});

  // One job is done every so often while there are always some waiting, to judge by the newest hundred or so; 0: none was done yet.
  int64_t pace_ns() const;

 private:
  // The caller with the lesser one goes first.
  struct CallersTurn {
    unsigned running = 0;  // jobs
    uint64_t served = 0;   // the number of the last one
    auto operator<=>(const CallersTurn&) const = default;
  };
  struct Job {
    std::function<void()> run;
    std::string caller;
  };
  void work();
  // The one that begins next; with the mutex held. Takes time for each that waits where jobs have callers.
  std::deque<Job>::iterator next();
  // Whether it is counted as running: without memory it is done all the same.
  bool begin(const std::string& caller) noexcept;
  void end(const std::string& caller);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;  // guarded by mutex_, as are the next four
  std::map<std::string, CallersTurn> callers_;
  uint64_t served_ = 0;
  double mean_job_ns_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::http
