// Serves requests one after the other, with marks, until it is ended: each runs, sleeps, and runs. Prints a line per request: its ID,
// the CPU time that it took and how long it took, in ns.
#include <time.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include "appprof/marks.h"

namespace {

int64_t now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void run_for_ns(int64_t duration_ns) {
  const int64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + duration_ns;
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
  }
}

}  // namespace

int main() {
  constexpr uint64_t kAlways = 0;
  constexpr int64_t kRunNs = 2'000'000;
  for (uint64_t request = 1;; ++request) {
    plimsoll_mark(kAlways, PLIMSOLL_START, request);
    const int64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    const int64_t start_ns = now_ns(CLOCK_MONOTONIC);
    run_for_ns(kRunNs);
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
    run_for_ns(kRunNs);
    const int64_t took_ns = now_ns(CLOCK_MONOTONIC) - start_ns;
    const int64_t took_cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    plimsoll_mark(kAlways, PLIMSOLL_STOP, request);
    std::printf("%" PRIu64 " %" PRId64 " %" PRId64 "\n", request, took_cpu_ns, took_ns);
    std::fflush(stdout);
  }
}
