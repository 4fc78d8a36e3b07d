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
#include <string_view>
#include <thread>
#include <vector>

namespace plimsoll::http {

// Jobs of one kind that may take all the time there is: so many of them are done at once, others wait, and jobs behind them pass.
struct WorkGroup {
  std::string_view name = {};  // borrowed, for as long as there is a job of it; empty: none
  unsigned most_at_once = 0;   // 0: as many as there are threads
  std::string caller = {};     // whose job it is; empty: nobody's, and all of these are in one line
};

// Any thread may call.
class WorkerThreads {
 public:
  explicit WorkerThreads(unsigned threads);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Does what is waiting, then ends the threads.
  ~WorkerThreads();

  // Jobs begin in the order in which they were added, but for those whose group has no room: callers of whom fewer jobs are being done, or who
  // were served longer ago, go first, so that nobody waits behind hundreds of somebody else's. They must not throw. How many may wait is for whoever adds them to bound.
  void add(std::function<void()> job, WorkGroup group = {});

  // One job is done every so often while there are always some waiting, to judge by the newest hundred or so; 0: none was done yet.
  int64_t pace_ns() const;

 private:
  // Who has the lesser one goes first.
  struct CallersTurn {
    unsigned running = 0;  // jobs
    uint64_t served = 0;   // the number of the last one
    auto operator<=>(const CallersTurn&) const = default;
  };
  struct Job {
    std::function<void()> run;
    WorkGroup group;
  };
  void work();
  // The one that may begin; with the mutex held. Takes time for each that waits where jobs have callers.
  std::deque<Job>::iterator next();
  void begin(const WorkGroup& group);
  void end(const WorkGroup& group);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;                       // guarded by mutex_, as are the next five
  std::map<std::string_view, unsigned> running_;  // by group
  std::map<std::string, CallersTurn> callers_;
  uint64_t served_ = 0;
  double mean_job_ns_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::http
