// How many threads of a process run at a moment: what a CPU sample is divided by for latency.
//
// From the switches of each CPU and the samples that were taken there. What runs on a CPU is unknown from the beginning of a
// recorded stretch until the CPU's first switch or sample, and counts as nothing until then: samples of that time may be divided by
// too few.
//
// Pure; one thread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "daemon/waits/thread_record.h"

namespace plimsoll::waits {

class RunningThreads {
 public:
  // Nothing is known.
  void begin_slot();
  // kSwitch; others are passed over.
  void apply(const ThreadRecord& record);
  void seen_running(uint32_t cpu, ThreadId thread) { set(cpu, thread); }
  // At least 1.
  uint32_t of_process(uint32_t pid) const;

 private:
  void set(uint32_t cpu, ThreadId thread);

  static constexpr uint32_t kMaxCpus = 8192;  // as the kernel has it
  std::vector<uint32_t> pids_;                // by CPU; 0: idle or unknown
  boost::unordered_flat_map<uint32_t, uint32_t> running_;
};

}  // namespace plimsoll::waits
