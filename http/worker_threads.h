// Threads for work that is too long for those that serve connections.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace plimsoll::http {

// Jobs of one kind that may take all the time there is: so many of them are done at once, others wait, and jobs behind them pass.
struct WorkGroup {
  std::string_view name = {};  // borrowed, for as long as there is a job of it; empty: none
  unsigned most_at_once = 0;   // 0: as many as there are threads
};

// Any thread may call.
class WorkerThreads {
 public:
  explicit WorkerThreads(unsigned threads);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Does what is waiting, then ends the threads.
  ~WorkerThreads();

  // Jobs begin in the order in which they were added, but for those whose group has no room, and must not throw. How many may wait is for the
  // caller to bound.
  void add(std::function<void()> job, WorkGroup group = {});

  // One job is done every so often while there are always some waiting, to judge by the newest hundred or so; 0: none was done yet.
  int64_t pace_ns() const;

 private:
  struct Job {
    std::function<void()> run;
    WorkGroup group;
  };
  void work();
  // The first that may begin; with the mutex held.
  std::deque<Job>::iterator next();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;                       // guarded by mutex_, as are the next three
  std::map<std::string_view, unsigned> running_;  // by group
  double mean_job_ns_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::http
