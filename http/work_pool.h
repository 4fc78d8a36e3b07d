// Threads, and the places in front of them, for requests of one kind that take long.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "http/return_times.h"
#include "http/worker_threads.h"

namespace plimsoll::http {

struct WorkCounts {
  size_t waiting = 0;
  size_t running = 0;
  uint64_t refused = 0;    // since the start
  uint64_t cancelled = 0;  // since the start
};

// Each request has a place from its head until its handler has returned. Any thread may call.
class Places {
 public:
  explicit Places(size_t count) : free_(count), count_(count) {}

  enum class Taken : uint8_t { kYes, kNoneIsFree, kCallerHasItsShare };
  // A caller may have as many as are free: one alone takes at most half of them, and those who come later still find some.
  // (Dynamic thresholds, as switches share a buffer among queues: Choudhury and Hahne, 1998.) The empty caller stands for all clients
  // that are not told apart, and takes all there are.
  Taken take(const std::string& caller);
  // As it was taken.
  void give_back(const std::string& caller);
  // Half of them or more are taken.
  bool are_scarce() const;

 private:
  mutable std::mutex mutex_;
  size_t free_;  // guarded by mutex_, as are those by caller
  std::map<std::string, size_t> taken_;
  const size_t count_;
};

class WorkPool {
 public:
  struct Options {
    unsigned threads = 0;
    int nice = 0;  // of the threads, and of those that they start
    size_t places = 0;
    unsigned max_running_of_caller = 0;  // as WorkerThreads has it
  };
  explicit WorkPool(const Options& options);

  // Where there is none, requests that are abandoned make room first.
  Places::Taken take_place(const std::string& caller);
  void leave_place(const std::string& caller) { places_.give_back(caller); }
  // With no place left, a client that asked again at once would be turned away after sending a body that nobody reads; with half
  // of them free clients are not asked to wait, so that there is always work.
  bool is_crowded() const { return places_.are_scarce(); }
  // In how many seconds a client that is turned away now comes back (ReturnTimes).
  int64_t next_turn_s();

  // As WorkerThreads.
  void add(WorkerThreads::Job job) { workers_.add(std::move(job)); }
  void run_abandoned() { workers_.run_abandoned(); }

  void note_cancelled() { ++cancelled_; }
  // How many requests wait for a thread, are being handled, found no place, and were given up because nobody waited for their answer.
  WorkCounts counts() const;

 private:
  Places places_;
  ReturnTimes return_times_;
  std::atomic<int64_t> next_look_ns_ = 0;  // monotonic
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> cancelled_ = 0;
  WorkerThreads workers_;  // the last member: its jobs use the others
};

}  // namespace plimsoll::http
