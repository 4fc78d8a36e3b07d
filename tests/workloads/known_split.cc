// A program whose CPU time is split in a known way between three functions: 70 %, 20 % and 10 % of a loop that takes
// exactly so many milliseconds. It measures the split itself, by its CPU clock, and prints it at the end:
//
//   known_split SECONDS LOOP_MS     ->     seventy 0.7003 twenty 0.1998 ten 0.0999
//
// The functions spin on the CPU's own counter, without calls, so that samples fall into them and nothing else.
#include <time.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)
inline uint64_t ticks() {
  return __rdtsc();
}
#else
inline uint64_t ticks() {
  return clock_ns(CLOCK_MONOTONIC);
}
#endif

double ticks_per_ns() {
  const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
  const uint64_t start = ticks();
  while (clock_ns(CLOCK_MONOTONIC) - start_ns < 50'000'000) {
  }
  return static_cast<double>(ticks() - start) / static_cast<double>(clock_ns(CLOCK_MONOTONIC) - start_ns);
}

}  // namespace

extern "C" {

__attribute__((noinline)) void seventy_percent(uint64_t until) {
  while (ticks() < until) {
  }
}

__attribute__((noinline)) void twenty_percent(uint64_t until) {
  while (ticks() < until) {
  }
}

__attribute__((noinline)) void ten_percent(uint64_t until) {
  while (ticks() < until) {
  }
}
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: known_split SECONDS LOOP_MS\n");
    return 2;
  }
  const double per_ns = ticks_per_ns();
  const double loop = std::strtod(argv[2], nullptr) * 1e6 * per_ns;
  const uint64_t end_ns =
      clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(std::strtod(argv[1], nullptr) * 1e9);
  std::array<uint64_t, 3> spent_ns{};
  auto start = static_cast<double>(ticks());
  while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
    const uint64_t t0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    seventy_percent(static_cast<uint64_t>(start + 0.7 * loop));
    const uint64_t t1 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    twenty_percent(static_cast<uint64_t>(start + 0.9 * loop));
    const uint64_t t2 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ten_percent(static_cast<uint64_t>(start + loop));
    const uint64_t t3 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spent_ns[0] += t1 - t0;
    spent_ns[1] += t2 - t1;
    spent_ns[2] += t3 - t2;
    start += loop;
  }
  const auto total = static_cast<double>(spent_ns[0] + spent_ns[1] + spent_ns[2]);
  std::printf("seventy %.5f twenty %.5f ten %.5f\n", static_cast<double>(spent_ns[0]) / total,
              static_cast<double>(spent_ns[1]) / total, static_cast<double>(spent_ns[2]) / total);
  return 0;
}
