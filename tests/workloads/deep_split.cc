// deep_split SECONDS: a program that only whole stacks and inlined frames explain. Its CPU time goes to three functions:
//
//   mix             inlined twice, into parse and into render
//   library_digest  in a shared library
//   Circle::area    behind a recursion of depth 40 and a virtual call
//
// Built -O2 without frame pointers, and stripped by the test that runs it. It measures the split by its own CPU clock and
// prints it: "parse 0.30 render 0.20 library 0.30 area 0.20". The lines that samples must fall on say "hot: FUNCTION".
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/workloads/deep_split_library.h"

namespace {

uint64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

inline __attribute__((always_inline)) uint64_t mix(uint64_t seed, uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) {
    seed = (seed ^ (seed >> 30)) * 0x94d049bb133111ebU + i;  // hot: mix
  }
  return seed;
}

__attribute__((noinline)) uint64_t parse(uint64_t seed) {
  return mix(seed, 600'000) + 1;  // call: parse
}

__attribute__((noinline)) uint64_t render(uint64_t seed) {
  return mix(seed, 400'000) + 2;  // call: render
}

struct Shape {
  virtual ~Shape() = default;
  virtual uint64_t area(uint64_t seed) const = 0;
};

struct Circle : Shape {
  __attribute__((noinline)) uint64_t area(uint64_t seed) const override {
    for (uint64_t i = 0; i < 400'000; ++i) {
      seed = (seed ^ (seed >> 27)) * 0x9e3779b97f4a7c15U + i;  // hot: area
    }
    return seed;
  }
};

// Never made, but for all the compiler knows.
struct Square : Shape {
  __attribute__((noinline)) uint64_t area(uint64_t seed) const override { return seed * seed; }
};

// With the barrier behind it the recursive call stays one.
__attribute__((noinline)) uint64_t descend(const Shape& shape, unsigned depth, uint64_t seed) {
  if (depth == 0) {
    return shape.area(seed) + 1;
  }
  uint64_t below = descend(shape, depth - 1, seed + depth);
  __asm__ volatile("" : "+r"(below));
  return below + depth;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  std::unique_ptr<Shape> shape = std::make_unique<Circle>();
  if (argc > 2) {
    shape = std::make_unique<Square>();
  }
  volatile unsigned depth = 40;
  const uint64_t start_ns = cpu_ns();
  uint64_t part_ns[4] = {};
  uint64_t seed = 1;
  uint64_t now_ns = start_ns;
  const auto add = [&](int part) {
    const uint64_t before_ns = now_ns;
    now_ns = cpu_ns();
    part_ns[part] += now_ns - before_ns;
  };
  while (static_cast<double>(now_ns - start_ns) < seconds * 1e9) {
    seed = parse(seed);
    add(0);
    seed = render(seed);
    add(1);
    seed = library_digest(seed, 600'000);
    add(2);
    seed = descend(*shape, depth, seed);
    add(3);
  }
  const auto total = static_cast<double>(now_ns - start_ns);
  std::printf("parse %.4f render %.4f library %.4f area %.4f\n", static_cast<double>(part_ns[0]) / total,
              static_cast<double>(part_ns[1]) / total, static_cast<double>(part_ns[2]) / total,
              static_cast<double>(part_ns[3]) / total);
  return seed == 42 ? 1 : 0;
}
