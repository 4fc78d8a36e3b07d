#include "tests/fleets/simulated_use.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "statistics/pooling.h"

namespace plimsoll::fleets {
namespace {

struct UseBurst {
  size_t begin = 0;
  size_t length = 0;
  double cpus = 0;
};

std::vector<UseBurst> bursts_of(const UseSpec& spec, std::mt19937_64& random) {
  std::geometric_distribution<size_t> busy(1 / spec.busy_steps);
  std::geometric_distribution<size_t> quiet(1 / (9 * spec.busy_steps));
  std::uniform_real_distribution<double> uniform;
  std::vector<UseBurst> bursts;
  for (size_t at = quiet(random); at < spec.steps; at += quiet(random)) {
    const UseBurst burst{.begin = at,
                         .length = 1 + busy(random),
                         .cpus = std::min(std::pow(1 - uniform(random), -1 / 2.0), 20.0)};
    bursts.push_back(burst);
    at += burst.length;
  }
  return bursts;
}

void add_bursts(const std::vector<UseBurst>& bursts, size_t delay, std::vector<double>& series) {
  for (const UseBurst& burst : bursts) {
    for (size_t step = burst.begin + delay;
         step < std::min(burst.begin + delay + burst.length, series.size()); ++step) {
      series[step] += burst.cpus;
    }
  }
}

std::vector<double> base_use(const UseSpec& spec, std::mt19937_64& random) {
  const double next = std::exp(-1 / 50.0);
  std::normal_distribution<double> normal;
  std::vector<double> series(spec.steps);
  double wave = normal(random);
  for (double& value : series) {
    value = std::max(0.0, 0.5 + 0.1 * normal(random) + (spec.has_slow_waves ? 0.5 * wave : 0));
    wave = next * wave + std::sqrt(1 - next * next) * normal(random);
  }
  return series;
}

}  // namespace

UsePair simulate_use(const UseSpec& spec, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  UsePair pair{.first = base_use(spec, random), .second = base_use(spec, random)};
  const std::vector<UseBurst> bursts = bursts_of(spec, random);
  add_bursts(bursts, 0, pair.first);
  std::vector<UseBurst> others = bursts_of(spec, random);
  std::erase_if(others, [&](const UseBurst&) { return uniform(random) < spec.followed; });
  add_bursts(others, 0, pair.second);
  std::vector<UseBurst> followed = bursts;
  std::erase_if(followed, [&](const UseBurst&) { return uniform(random) >= spec.followed; });
  add_bursts(followed, spec.delay, pair.second);
  return pair;
}

Recognized recognize(const UseSpec& spec, size_t pairs, uint64_t first_seed) {
  constexpr double kTestLevel = 0.05;
  Recognized recognized;
  for (size_t i = 0; i < pairs; ++i) {
    const UsePair pair = simulate_use(spec, first_seed + i);
    const auto test = statistics::test_shift(pair.first, pair.second,
                                             {.max_lag = 20, .permutations = 400, .seed = first_seed + i});
    if (!test) {
      continue;
    }
    ++recognized.pairs;
    recognized.dependent += test->p < kTestLevel ? 1 : 0;
    recognized.at_delay += test->p < kTestLevel && test->lag == static_cast<ptrdiff_t>(spec.delay) ? 1 : 0;
  }
  return recognized;
}

std::vector<UseSpec> independent_use() {
  return {{.name = "short-bursts", .busy_steps = 3},
          {.name = "long-bursts", .busy_steps = 15},
          {.name = "slow-waves", .busy_steps = 5, .has_slow_waves = true}};
}

std::vector<UseSpec> shifted_use() {
  std::vector<UseSpec> specs = independent_use();
  for (UseSpec& spec : specs) {
    spec.followed = 0.5;
    spec.delay = 7;
  }
  return specs;
}

std::vector<UseSpec> hardly_shifted_use() {
  std::vector<UseSpec> specs = shifted_use();
  for (UseSpec& spec : specs) {
    spec.followed = 0.1;
  }
  return specs;
}

}  // namespace plimsoll::fleets
