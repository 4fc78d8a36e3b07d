// Threads for work that is too long for those that serve connections.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll::http {

// Any thread may call.
class WorkerThreads {
 public:
  struct Options {
    unsigned threads = 0;
    int nice =
        0;  // not negative; added to that of the process, for the threads and for those that their jobs start
    // That run at once: of fewer than there are threads, one is free for others however many jobs this caller has. 0: there is no limit.
    unsigned max_running_of_caller = 0;
  };
  struct Job {
    std::function<void()> run;  // must not throw
    // Empty: all jobs that say none stand in one line, and may run on all threads.
    std::string caller = {};
    // Whether nobody needs it any more, which then is so for good; empty: somebody does. Asked by any thread.
    std::function<bool()> is_abandoned = {};
  };

  explicit WorkerThreads(const Options& options);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Does what is waiting, then ends the threads.
  ~WorkerThreads();

  // Jobs of one caller begin in the order in which they were added. Callers of whom fewer jobs are being done, or who were served
  // longer ago, go first, so that no caller waits behind hundreds of jobs of another. How many may wait is for the function that adds
  // them to bound.
  void add(Job job);

  // Runs those that wait and are abandoned, in this thread; the time for each that waits, a system call perhaps.
  void run_abandoned();

  size_t waiting() const;
  size_t running() const;

  // One job is done every so often while there are always some waiting, to judge by the newest hundred or so; 0: none was done yet.
  int64_t pace_ns() const;

 private:
  // The caller with the lesser one goes first.
  struct CallersTurn {
    unsigned running = 0;  // jobs
    uint64_t served = 0;   // the number of the last one
    auto operator<=>(const CallersTurn&) const = default;
  };
  void work();
  // The one that begins next, if any may; with the mutex held. Takes time for each that waits where jobs have callers.
  std::list<Job>::iterator next();
  // Whether it is counted as running: without memory it is done all the same.
  bool begin(const std::string& caller) noexcept;
  void end(const std::string& caller);

  const unsigned max_running_of_caller_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job> waiting_;  // guarded by mutex_, as are the next five
  size_t running_ = 0;
  std::map<std::string, CallersTurn> callers_;
  uint64_t served_ = 0;
  double mean_job_ns_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::http
