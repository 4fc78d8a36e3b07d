// framed_mix SECONDS: recursion, virtual calls, templates, calls through pointers and tables, in the main thread and another,
// hardly ever in a library. Built with frame pointers in all its functions, so that what the kernel finds by following them
// can be compared with another way of unwinding.
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

namespace {

std::atomic<uint64_t> sink = 0;

uint64_t mixed(uint64_t value) {
  return (value ^ (value >> 29U)) * 0x9e3779b97f4a7c15U + 1;
}

// Keeps something on its stack: compilers make no frame for functions that do not, whatever they are told.
[[gnu::noinline]] uint64_t work(uint64_t seed, int rounds) {
  volatile uint64_t newest = seed;
  for (int i = 0; i < rounds; ++i) {
    newest = mixed(newest + static_cast<uint64_t>(i));
  }
  return newest;
}

[[gnu::noinline]] uint64_t fibonacci(uint64_t n) {
  return n < 2 ? work(n, 3) : fibonacci(n - 1) + fibonacci(n - 2);
}

[[gnu::noinline]] uint64_t descend(int depth, uint64_t seed) {
  if (depth == 0) {
    return work(seed, 2000);
  }
  const uint64_t below = descend(depth - 1, seed + 1);
  return mixed(below);
}

struct Shape {
  virtual ~Shape() = default;
  virtual uint64_t area(uint64_t seed) const = 0;
};
struct Square : Shape {
  uint64_t area(uint64_t seed) const override { return work(seed, 50) + 1; }
};
struct Circle : Shape {
  uint64_t area(uint64_t seed) const override { return work(seed, 70) * 3; }
};
struct Group : Shape {
  std::array<const Shape*, 4> members{};
  uint64_t area(uint64_t seed) const override {
    uint64_t sum = 0;
    for (const Shape* member : members) {
      sum += member->area(seed + sum);
    }
    return sum;
  }
};

// Sorts in place, with a comparison by pointer.
template <typename T>
[[gnu::noinline]] void quicksort(T* first, T* last, bool (*less)(const T&, const T&)) {
  while (last - first > 1) {
    const T pivot = first[(last - first) / 2];
    T* low = first;
    T* high = last - 1;
    while (low <= high) {
      while (less(*low, pivot)) {
        ++low;
      }
      while (less(pivot, *high)) {
        --high;
      }
      if (low <= high) {
        const T other = *low;
        *low++ = *high;
        *high-- = other;
      }
    }
    quicksort(first, high + 1, less);
    first = low;
  }
}

[[gnu::noinline]] bool less_by_hash(const uint64_t& left, const uint64_t& right) {
  return mixed(left) < mixed(right);
}
[[gnu::noinline]] bool less_by_low_bits(const uint32_t& left, const uint32_t& right) {
  return (left & 0xffffU) < (right & 0xffffU);
}

[[gnu::noinline]] uint64_t sorted(uint64_t seed) {
  std::array<uint64_t, 300> large;
  std::array<uint32_t, 300> small;
  for (size_t i = 0; i < large.size(); ++i) {
    seed = mixed(seed);
    large[i] = seed;
    small[i] = static_cast<uint32_t>(seed);
  }
  quicksort(large.data(), large.data() + large.size(), less_by_hash);
  quicksort(small.data(), small.data() + small.size(), less_by_low_bits);
  return large[7] + small[9];
}

[[gnu::noinline]] uint64_t run_table(uint64_t seed) {
  using Step = uint64_t (*)(uint64_t);
  static constexpr std::array<Step, 3> kSteps{fibonacci, sorted,
                                              [](uint64_t value) { return work(value, 20); }};
  return kSteps[seed % 3](seed % 16);
}

bool is_over(const timespec& end) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
}

[[gnu::noinline]] void work_until(const timespec& end) {
  const Square square;
  const Circle circle;
  Group group;
  group.members = {&square, &circle, &circle, &square};
  Group groups;
  groups.members = {&group, &square, &group, &circle};
  uint64_t seed = 1;
  while (!is_over(end)) {
    for (int i = 0; i < 50; ++i) {
      seed = mixed(seed + groups.area(seed) + descend(40, seed) + fibonacci(12) + run_table(seed));
    }
  }
  sink += seed;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  timespec end{};
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += static_cast<time_t>(seconds);
  std::thread other([end] { work_until(end); });
  work_until(end);
  other.join();
  return sink == 42 ? 1 : 0;
}
