#include "statistics/stability/stability.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/harness/statistics.h"
#include "bench/query/parts.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kMachinesOfWindow = 5000;
constexpr size_t kPermutations = 1000;
constexpr double kGoalOfPermutationsMs = 2000;

// Profiles of machines that have a third of the functions each, of which the n-th takes 1/n of the first.
struct Profiles {
  std::vector<uint32_t> machines;
  std::vector<uint32_t> strata;
  std::vector<double> values;

  Profiles(uint32_t first_machine, size_t rows, std::mt19937_64& random)
      : machines(kMachinesOfWindow), values(kMachinesOfWindow * rows) {
    std::iota(machines.begin(), machines.end(), first_machine);
    for (const uint32_t machine : machines) {
      strata.push_back(machine % 4);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (random() % 3 == 0) {
        values[i] = static_cast<double>(
            std::poisson_distribution<int>(200.0 / static_cast<double>(i % rows + 1))(random));
      }
    }
  }

  statistics::Window window() const { return {machines, strata, values}; }
};

double median_ms(const Profiles& x, const Profiles& y, size_t rows) {
  std::vector<double> took_ms;
  for (int round = 0; round < 3; ++round) {
    const int64_t start_ns = thread_cpu_ns();
    const statistics::Comparison comparison = statistics::compare(
        x.window(), y.window(),
        {.rows = rows, .permutations = kPermutations, .seed = static_cast<uint64_t>(round)});
    took_ms.push_back(static_cast<double>(thread_cpu_ns() - start_ns) / 1e6);
    keep(comparison.rows.size());
  }
  return median(took_ms);
}

}  // namespace

Status measure_stability(const Flags& flags, Report& report) {
  std::mt19937_64 random(3);
  for (const size_t rows : {size_t{1000}, size_t{5000}}) {
    if (flags.quick && rows > 1000) {
      continue;
    }
    const Profiles x(0, rows, random);
    const Profiles same_machines(0, rows, random);
    const Profiles other_machines(kMachinesOfWindow / 2, rows, random);
    const auto add = [&](const char* which, const Profiles& y) {
      report.add({.name = fmt::format("stability-{}-{}-functions-ms", which, rows),
                  .value = median_ms(x, y, rows),
                  .unit = "ms",
                  .goal = kGoalOfPermutationsMs,
                  .note = fmt::format("{} permutations of {} machines", kPermutations, kMachinesOfWindow)});
    };
    add("same-machines", same_machines);
    add("half-other-machines", other_machines);
  }
  return {};
}

}  // namespace plimsoll::bench
