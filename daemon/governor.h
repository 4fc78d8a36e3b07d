// Holds the daemon within what its machine grants it, whatever it is asked to collect: CPU time and memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

namespace plimsoll {

// What this process has used, all threads together.
struct SelfUsage {
  int64_t cpu_time_ns = 0;  // since its start
  uint64_t resident_bytes = 0;
};
SelfUsage read_self_usage();  // about 10 us

struct Budget {
  double cpu_share = 0.01;  // of one core, over a minute
  uint64_t resident_bytes = uint64_t{64} << 20;
};

// Any thread may call; the collecting thread calls observe() a few times a second.
//
// Two things hold the CPU time. The share of the newest half seconds decides how many samples are taken: where most of them
// are over 75 % of the limit, the slowdown grows in proportion, so that a load that would need five times the limit is
// within it after one or two such decisions (1.5 s each); where ten seconds were well below on the mean, it is halved. Single expensive
// moments (reading the machine's processes at the start, a large binary, the end of a window) slow nothing: for them there
// is the minute's budget. Once 95 % of that are gone nothing is sampled until half of it has come back.
//
// Work that is done once, and makes all later work cheap (spread()), would use up that of the first minute: it is paid for in ten
// minutes, a tenth in each. So much of it as half of their budget, at most: 3 s at 1 %, beyond which it counts like all else.
class Governor {
 public:
  explicit Governor(Budget budget, std::function<SelfUsage()> read_usage = read_self_usage);

  void observe(int64_t now_ns);  // monotonic

  // So much CPU time was used for work that is done once, such as compiling a binary's unwind table. Call before the next
  // observe(), which finds it in what the process has used.
  void spread(int64_t cpu_ns);

  // Times as few samples as asked for; at least 1.
  uint32_t slowdown() const;
  // Why sampling has to pause, in words; empty: it has not.
  std::string reason_to_pause() const;
  // Whether three quarters of the memory are in use, and the rest is needed to encode what there is.
  bool is_over_memory() const;

  struct State {
    SelfUsage usage;               // as of the last observe()
    uint64_t peak_resident_bytes;  // since the last restart_peak()
    double cpu_share;              // over the last minute, or since the start where that is less
    uint32_t slowdown;
  };
  State state() const;
  void restart_peak();
  Budget budget() const;
  // Another one from now on; what was used is used.
  void set_budget(Budget budget);

 private:
  struct Slot {
    int64_t end_ns;
    int64_t cpu_ns;
  };

  // These want the mutex held.
  void close_slot(int64_t now_ns);
  void adapt_slowdown(double slot_share);
  void slow_down(double times);
  int64_t minute_cpu_ns() const;
  int64_t spread_cpu_ns(int64_t since_ns) const;
  double used_of_budget() const;  // by the last minute, 1: all

  const std::function<SelfUsage()> read_usage_;

  mutable std::mutex mutex_;
  // All below are protected by it.
  Budget budget_;
  SelfUsage usage_;
  uint64_t peak_resident_bytes_ = 0;
  int64_t started_ns_ = 0;  // 0: not observed yet
  int64_t observed_ns_ = 0;
  Slot open_slot_{};        // since its end_ns, which is the end of the one before
  std::deque<Slot> slots_;  // of the last minute, by time
  struct Spread {
    int64_t at_ns;
    int64_t cpu_ns;
  };
  std::deque<Spread> spread_;  // of the last ten minutes, by time; in no slot
  std::deque<double> shares_;  // of the newest slots under the slowdown that is in force
  uint32_t slowdown_ = 1;
  bool is_paused_ = false;
};

// Work of this thread that is done once, from here to the end of the scope. Without a governor (null, borrowed) nothing happens.
class OneTimeWork {
 public:
  explicit OneTimeWork(Governor* governor);
  OneTimeWork(const OneTimeWork&) = delete;
  OneTimeWork& operator=(const OneTimeWork&) = delete;
  ~OneTimeWork();

 private:
  Governor* const governor_;
  const int64_t cpu_before_ns_;
};

}  // namespace plimsoll
