// CPU use of two services in short steps, which depend on each other or do not: for tests of pooling.h, and for query_bench.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::fleets {

struct UseSpec {
  std::string name;
  size_t steps = 20'000;
  double busy_steps = 5;  // mean duration of a burst; quiet times last nine times as long
  // Share of the first service's bursts that have one of the second follow, by so many steps; the second has others of its own.
  double followed = 0;
  size_t delay = 0;
  bool has_slow_waves = false;  // each service's load also wanders, with a memory of 50 steps
};

struct UsePair {
  std::vector<double> first;
  std::vector<double> second;
};

UsePair simulate_use(const UseSpec& spec, uint64_t seed);

// How many of so many simulated pairs test_shift() takes for dependent (p under 0.05), and how many of those at the lag of the delay.
struct Recognized {
  size_t pairs = 0;
  size_t dependent = 0;
  size_t at_delay = 0;
};
Recognized recognize(const UseSpec& spec, size_t pairs, uint64_t first_seed);

// Short bursts and long ones, with and without slow waves: independent, and shifted by 7 steps.
std::vector<UseSpec> independent_use();
std::vector<UseSpec> shifted_use();
// The same shift, where one burst in ten is followed: half of the pairs and more are found.
std::vector<UseSpec> hardly_shifted_use();

}  // namespace plimsoll::fleets
