// How long threads are off the CPU, from their switches: exact within the stretches of time in which these are recorded.
//
//   WaitTimes times([&](const WaitPart& part) { ... });
//   times.begin_slot(start_ns, 1);
//   times.sampled(tid, time_ns, stack);    // of the switch that follows
//   times.apply(record);                   // in the order of time
//   times.end_slot(end_ns);
//
// A thread is off the CPU from the switch that leaves it to the one that enters it. Waits are cut where a stretch begins or
// ends. Within one
//   - a thread that enters a CPU first was off it from the beginning of the stretch on;
//   - a thread that is known from before, of which there is no record and no sample, was off the CPU throughout; but where it was last seen on
//     a CPU that has had no switch since the stretch began it may have run there, and counts nothing.
// A thread that never ran while switches were recorded is unknown, and counts nothing. Each part counts with the weight of
// its stretch: the inverse of the probability with which the stretch was chosen.
//
// Pure; one thread. Takes about 100 bytes for each thread that is known, at most `max_threads`.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/waits/thread_record.h"

namespace plimsoll::waits {

class WaitTimes {
 public:
  static constexpr size_t kMaxThreads = 100'000;
  // A stack is taken in the course of a switch, and belongs to no switch that is later than this.
  static constexpr int64_t kSampleToSwitchNs = 1'000'000;
  // A thread that has ended leaves its CPU for good within that time.
  static constexpr int64_t kExitToGoneNs = 1'000'000'000;

  explicit WaitTimes(std::function<void(const WaitPart&)> consume, size_t max_threads = kMaxThreads);

  // `weight`: what a nanosecond of this stretch stands for; at least 1. What was sampled before is forgotten.
  void begin_slot(int64_t time_ns, uint32_t weight);
  void end_slot(int64_t time_ns);

  // kSwitch and kWake; others are passed over. In the order of time; nothing outside of a slot.
  void apply(const ThreadRecord& record);
  // The stack with which the thread is about to leave its CPU.
  void sampled(ThreadId id, int64_t time_ns, SampledStack stack);
  // A sample shows the thread on a CPU: one that runs for a whole slot is in no record.
  void seen_running(uint32_t cpu, ThreadId id, int64_t time_ns);
  // A new thread waits for a CPU from its first moment on.
  void started(ThreadId id, int64_t time_ns);
  // It counts nothing any more.
  void exited(uint32_t tid, int64_t time_ns);

  // Outside of a slot.
  void forget_threads();

  size_t size() const { return threads_.size(); }
  // Threads for which there was no room: records of them that counted nothing.
  uint64_t left_out() const { return left_out_; }

 private:
  struct Thread {
    uint32_t pid = 0;
    uint64_t slot = 0;  // the newest in which it was seen
    bool is_off = false;
    bool has_exited = false;
    int64_t off_since_ns = 0;
    int64_t runnable_since_ns = INT64_MAX;
    std::optional<uint32_t> running_on =
        {};  // the CPU on which it was last seen, unless it was seen to leave it
    std::optional<SampledStack> stack = {};  // of the wait
    std::optional<SampledStack> next_stack = {};
    int64_t sampled_ns = 0;  // when next_stack was
  };

  struct Exit {
    int64_t time_ns;
    uint32_t tid;
  };

  // Null where there is no room, or it is none to account for.
  Thread* find(ThreadId id);
  void leave(const ThreadRecord& record);
  void enter(const ThreadRecord& record);
  void wake(uint32_t tid, int64_t time_ns);
  void account(uint32_t tid, const Thread& thread, int64_t until_ns) const;
  bool may_run_unseen(const Thread& thread) const;
  // What a thread that is seen for the first time in this slot did until now.
  void was_off(Thread& thread) const;
  bool is_open(int64_t time_ns) const { return is_in_slot_ && time_ns >= slot_start_ns_; }

  std::function<void(const WaitPart&)> consume_;
  size_t max_threads_;
  boost::unordered_flat_map<uint32_t, Thread> threads_;
  bool is_in_slot_ = false;
  uint64_t slot_ = 0;  // its number
  int64_t slot_start_ns_ = 0;
  uint32_t weight_ = 1;
  std::vector<uint64_t> switched_in_;  // by CPU: the newest slot in which it has switched
  uint64_t left_out_ = 0;
  std::deque<Exit> exits_;  // of threads that may still be in threads_, by time
};

}  // namespace plimsoll::waits
