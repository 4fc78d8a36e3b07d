// Joins records of threads with samples, in the order of time, to the rows of the events off-cpu-ns, runnable-ns,
// kernel-lock-wait-ns and cpu-latency-ns.
//
// Pure; one thread. Samples and records are told in any order; what is to happen first is what has the earlier time:
//
//   accounts.begin_window(find_thread);
//   accounts.begin_slot(on_ns, 1);
//   accounts.add(records);
//   accounts.advance(sample_ns);            // all records before it
//   accounts.switch_sampled(thread, sample_ns, stack);
//   accounts.end_slot(off_ns);
//   accounts.advance(INT64_MAX);
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "daemon/waits/lock_times.h"
#include "daemon/waits/running_threads.h"
#include "daemon/waits/stack_shares.h"
#include "daemon/waits/thread_record.h"
#include "daemon/waits/wait_times.h"

namespace plimsoll::waits {

class WaitAccounts {
 public:
  // The number of a thread in the profile, for waits without a stack.
  using FindThread = std::function<uint32_t(ThreadId thread, int64_t time_ns)>;
  // What a sample counts for latency where its thread is the only one of its process: divisible by numbers up to 16.
  static constexpr uint64_t kWholeSample = 720'720;

  WaitAccounts();
  WaitAccounts(const WaitAccounts&) = delete;
  WaitAccounts& operator=(const WaitAccounts&) = delete;

  // Numbers of threads and stacks from before mean nothing any more.
  void begin_window(FindThread find_thread);

  // Each in the order of time; a slot ends before the next one begins.
  void begin_slot(int64_t time_ns, uint32_t weight) { edges_.push_back({time_ns, weight}); }
  void end_slot(int64_t time_ns) { edges_.push_back({time_ns, 0}); }
  // Sorted by time.
  void add(std::span<const ThreadRecord> records);
  // Accounts what happened before that time.
  void advance(int64_t before_ns);

  // The stacks with which a thread is about to leave its CPU, or to wait for a lock of the kernel.
  void switch_sampled(ThreadId thread, int64_t time_ns, SampledStack stack);
  void lock_sampled(ThreadId thread, int64_t time_ns, SampledStack stack);
  // A sample of a thread on a CPU; `counts_latency`: of the clock whose samples are weighted by latency.
  void running_sampled(uint32_t cpu, ThreadId thread, int64_t time_ns, SampledStack stack,
                       bool counts_latency);

  void thread_started(ThreadId thread, int64_t time_ns) { waits_.started(thread, time_ns); }
  void thread_exited(uint32_t tid, int64_t time_ns);
  // The process goes on as another one of the profile.
  void thread_has_new_program(uint32_t tid) { thread_numbers_.erase(tid); }

  // Which threads there are is unknown from here on, and learnt from their switches.
  void forget_threads();

  // Of the window.
  StackShares& off_cpu() { return off_cpu_; }
  StackShares& runnable() { return runnable_; }
  StackShares& locks() { return locks_; }
  StackShares& latency() { return latency_; }
  // Of the clock's samples within slots, those of a slot weighted by its weight: what divides latency().total_ns().
  uint64_t latency_samples() const { return latency_samples_; }
  // The length of all slots, each times its weight.
  uint64_t recorded_ns() const { return recorded_ns_; }
  uint64_t lost() const { return lost_; }
  uint64_t left_out() const { return waits_.left_out() - left_out_before_; }
  uint32_t slots() const { return slots_; }
  uint32_t largest_weight() const { return largest_weight_; }

 private:
  struct Edge {
    int64_t time_ns;
    uint32_t weight;  // 0: the slot ends
  };
  void pass_edges(int64_t until_ns);
  void open_slot(int64_t time_ns, uint32_t weight);
  void close_slot(int64_t time_ns);
  void cut_slot(bool forgets_threads);
  void apply(const ThreadRecord& record);
  uint32_t number_of(const WaitPart& part);
  void add_wait(const WaitPart& part);
  void add_lock_wait(const WaitPart& part);

  FindThread find_thread_;
  int64_t now_ns_ = 0;  // of what is being accounted
  WaitTimes waits_;
  LockTimes lock_waits_;
  RunningThreads running_;
  StackShares off_cpu_;
  StackShares runnable_;
  StackShares locks_;
  StackShares latency_;
  uint64_t latency_samples_ = 0;
  boost::unordered_flat_map<uint32_t, uint32_t> thread_numbers_;  // by tid
  std::deque<Edge> edges_;
  std::vector<ThreadRecord> records_;
  size_t next_ = 0;      // of records_
  uint32_t weight_ = 0;  // 0: outside of slots
  int64_t slot_start_ns_ = 0;
  uint64_t recorded_ns_ = 0;
  uint64_t lost_ = 0;
  uint64_t left_out_before_ = 0;  // the window
  uint32_t slots_ = 0;
  uint32_t largest_weight_ = 1;
};

}  // namespace plimsoll::waits
