// Stacks of all threads of the process, blocked ones too, by a signal to one at a time.
//
// The signal is the highest real-time one without a handler that no thread blocks when the first request comes; its handler stays installed, since a
// signal that arrives late would end the process otherwise. It is installed with SA_RESTART, but calls that the kernel never
// restarts (poll, epoll_wait, select, nanosleep, recv with a timeout, sem_timedwait, ... signal(7)) return EINTR: a program must expect
// that, as with any profiler by signals.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "appprof/profile.h"

namespace plimsoll::appprof {

struct ThreadSamplerOptions {
  int64_t interval_ns = 5'000'000;  // between two signals: 200 a second, whatever the number of threads
  // Threads of the library itself.
  std::function<bool(pid_t)> is_own;
};

// Threads in turn, in an order that is random for each round, until `wait(ns)` is false. Each sample stands for the time since
// the answer before it, once for each thread that lived, and scaled to the whole time: thread-time of all threads, unbiased. A thread
// that blocks the signal is not asked; it and one that does not answer in 50 ms (an uninterruptible sleep) count as "[no answer]". samples/count, wall/nanoseconds. One at a
// time: the caller sees to it. In `why` what does not work; empty: all is well.
Profile take_wall_profile(const ThreadSamplerOptions& options, const std::function<bool(int64_t ns)>& wait,
                          std::string& why);

// Each thread once, in five seconds at most: threads/count. After `wait(0)` was false none is asked.
Profile take_thread_profile(const ThreadSamplerOptions& options, const std::function<bool(int64_t ns)>& wait,
                            std::string& why);

// In a child that has just been forked, maybe while a thread that it does not have was answering: that answer is never finished.
void reset_thread_sampler_in_child() noexcept;

// Of the process, without those of `is_own`, which may be empty.
std::vector<pid_t> thread_ids(const std::function<bool(pid_t)>& is_own);

struct ThreadInfo {
  pid_t id = 0;
  std::string name;
  char state = '?';  // as in /proc/PID/stat
};
std::vector<ThreadInfo> list_threads();

}  // namespace plimsoll::appprof
