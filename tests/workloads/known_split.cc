// A program whose CPU time is split in a known way between three functions, 70 %, 20 % and 10 %:
//
//   known_split SECONDS work        so much work each, whatever else the machine is doing
//   known_split SECONDS LOOP_MS     a loop of exactly so many milliseconds, for samplers that fall into step; what the
//                                   functions get is right only on an idle CPU
//
// It measures the split itself, by its own CPU clock, and prints it at the end: "seventy 0.7003 twenty 0.1998 ten 0.0999".
// The functions call nothing, so that samples fall into them and nowhere else.
#include <time.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

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

// Each step waits for the one before: as long as a multiplication takes, wherever the loop lies in memory.
#define WORK_FUNCTION(name)                                 \
  __attribute__((noinline)) uint64_t name(uint64_t steps) { \
    uint64_t x = steps;                                     \
    for (uint64_t i = 0; i < steps; ++i) {                  \
      x = x * 6364136223846793005U + 1;                     \
    }                                                       \
    return x;                                               \
  }
WORK_FUNCTION(seventy_percent_of_work)
WORK_FUNCTION(twenty_percent_of_work)
WORK_FUNCTION(ten_percent_of_work)
}

namespace {

// What each of the three functions has spent, by the thread's CPU clock.
struct Spent {
  std::array<uint64_t, 3> ns{};

  template <typename First, typename Second, typename Third>
  void measure(First first, Second second, Third third) {
    const uint64_t t0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    first();
    const uint64_t t1 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    second();
    const uint64_t t2 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    third();
    const uint64_t t3 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ns[0] += t1 - t0;
    ns[1] += t2 - t1;
    ns[2] += t3 - t2;
  }

  void print() const {
    const auto total = static_cast<double>(ns[0] + ns[1] + ns[2]);
    std::printf("seventy %.5f twenty %.5f ten %.5f\n", static_cast<double>(ns[0]) / total,
                static_cast<double>(ns[1]) / total, static_cast<double>(ns[2]) / total);
  }
};

void run_by_work(uint64_t end_ns, Spent& spent) {
  constexpr uint64_t kSteps = 100'000;  // about 0.1 ms
  uint64_t result = 0;
  while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
    spent.measure([&] { result += seventy_percent_of_work(7 * kSteps); },
                  [&] { result += twenty_percent_of_work(2 * kSteps); },
                  [&] { result += ten_percent_of_work(kSteps); });
  }
  if (result == 0) {
    std::puts("");  // so that the work is not optimized away
  }
}

void run_in_loops(uint64_t end_ns, double loop_ms, Spent& spent) {
  const double loop = loop_ms * 1e6 * ticks_per_ns();
  auto start = static_cast<double>(ticks());
  while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
    spent.measure([&] { seventy_percent(static_cast<uint64_t>(start + 0.7 * loop)); },
                  [&] { twenty_percent(static_cast<uint64_t>(start + 0.9 * loop)); },
                  [&] { ten_percent(static_cast<uint64_t>(start + loop)); });
    start += loop;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: known_split SECONDS work|LOOP_MS\n");
    return 2;
  }
  const uint64_t end_ns =
      clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(std::strtod(argv[1], nullptr) * 1e9);
  Spent spent;
  if (std::string_view(argv[2]) == "work") {
    run_by_work(end_ns, spent);
  } else {
    run_in_loops(end_ns, std::strtod(argv[2], nullptr), spent);
  }
  spent.print();
  return 0;
}
