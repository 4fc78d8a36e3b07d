// CPU profiles: SIGPROF at each 10 ms of a thread's CPU time, while a request lasts.
//
// Not by libprofiler: its handler takes a lock that a fork can leave locked, a child's exit writes into its parent's profile,
// and its samples have no labels. Until the first request, and after each, SIGPROF is as the program left it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "appprof/profile.h"
#include "appprof/unwind.h"

namespace plimsoll::appprof {

// Samples on their way from signal handlers to the thread that collects them, in memory of a fixed size. Any thread and handler may
// add: no lock, no allocation, no wait. One thread takes out.
class SampleLog {
 public:
  static constexpr size_t kSlots = 4096;

  SampleLog() = default;
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  // Maps memory, 1.7 MiB of addresses, once; false: there is none.
  bool allocate() noexcept;
  // The calling thread's stack from `first` on, and its labels. Where no slot is free it is counted as lost.
  void add(uintptr_t first) noexcept;
  // visit(frames, labels) for each that is whole; frees their slots. Returns how many were lost since the last call.
  uint64_t take(const std::function<void(std::span<const uintptr_t>, uint32_t)>& visit);

 private:
  enum State : uint32_t { kFree, kWriting, kWhole };
  struct Slot {
    std::atomic<uint32_t> state;
    uint32_t labels;
    size_t depth;
    uintptr_t frames[kMaxFrames];
  };

  std::atomic<Slot*> slots_{nullptr};
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> lost_{0};
};

// samples/count, cpu/nanoseconds, until `wait(ns)` is false. Of the threads that are listed, ten times a second; a thread's first sample
// comes after a random part of the period, so that the expected number is its CPU time over the period. Nanoseconds are scaled
// so that their sum is the process's CPU time, which hides what has no samples: threads that block SIGPROF, or live shorter than
// 100 ms. Ends early where the program takes SIGPROF meanwhile. One at a time: the caller sees to it. In `why` what does not
// work; empty: all is well.
Profile take_cpu_profile(const std::function<std::vector<pid_t>()>& list_threads,
                         const std::function<bool(int64_t ns)>& wait, std::string& why);

// As google-pprof reads it: words of the machine, then the mappings.
std::string legacy_cpu_profile(const Profile& profile, const std::string& maps);

}  // namespace plimsoll::appprof
