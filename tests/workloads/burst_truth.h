// What a thread did on behalf of which request, by its own clocks, beside the marks that say the same to a
// recording of bursts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::testing {

struct ClockReadings {
  int64_t time_ns = 0;      // CLOCK_MONOTONIC
  int64_t cpu_ns = 0;       // CLOCK_THREAD_CPUTIME_ID
  int64_t runnable_ns = 0;  // how long the thread has waited for a CPU: /proc/thread-self/schedstat
};

// The mark that begins it is made between the first two readings, the one that ends it between the last two:
// the truth lies between what the outer ones and what the inner ones say. So does the time in which the
// thread was blocked, which is what is left of the time that passed: `time_ns` is read first of `before` and
// `end`, and last of `begin` and `after`.
struct TruthSegment {
  uint64_t request = 0;
  ClockReadings before;
  ClockReadings begin;
  ClockReadings end;
  ClockReadings after;
};

// One thread, but for print().
class ThreadTruth {
 public:
  // Names the calling thread, and marks for `config` (bits of a burst-config).
  ThreadTruth(uint64_t config, const std::string& name);

  void start(uint64_t request);  // the request begins here
  void take(uint64_t request);   // goes on with a request that another thread has begun
  void leave();                  // another thread goes on
  void stop();                   // the request is over
  // Works for no request, which no wake-up changes.
  void idle() const;
  void lock_wait(const void* lock) const;
  void lock_got(const void* lock) const;

  // "thread NAME", and a line per segment: "segment NAME REQUEST", the request in hexadecimal, and the
  // readings in ns.
  void print() const;

 private:
  ClockReadings read_time_first() const;
  ClockReadings read_time_last() const;
  void begin_segment(int mark, uint64_t request);
  void end_segment(int mark, uint64_t value);

  uint64_t config_;
  std::string name_;
  int schedstat_;
  TruthSegment now_;
  std::vector<TruthSegment> segments_;
};

// Computes for about as long, in CPU time; makes no system calls.
class Work {
 public:
  // Takes some ms.
  Work();
  void run_us(int64_t us) const;

 private:
  double steps_per_us_ = 0;
};

}  // namespace plimsoll::testing
