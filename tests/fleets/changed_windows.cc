#include "tests/fleets/changed_windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "statistics/stability/row_changes.h"

namespace plimsoll::fleets {
namespace {

constexpr size_t kRows = 30;
constexpr size_t kChanging = 1;
constexpr double kShareOfChanging = 0.02;
constexpr double kSamples = 2000;
constexpr size_t kPermutations = 400;
constexpr double kLevel = 0.02;

// The first is all else.
double share_of(size_t function) {
  if (function == kChanging) {
    return kShareOfChanging;
  }
  double sum = 0;
  for (size_t i = 2; i < kRows; ++i) {
    sum += 1 / static_cast<double>(i);
  }
  return function == 0 ? 0.4 : 0.58 / static_cast<double>(function) / sum;
}

}  // namespace

// As diff.cc hands them over: a value for each function, then the whole.
struct ChangedWindows::Profiles {
  std::vector<uint32_t> machines;
  std::vector<uint32_t> strata;
  std::vector<double> values;
  std::vector<double> sizes;

  statistics::Window window() const { return {machines, strata, values, sizes}; }
  double share(size_t function) const {
    double sum = 0;
    for (size_t machine = 0; machine < machines.size(); ++machine) {
      sum += values[machine * (kRows + 1) + function];
    }
    return sum / std::accumulate(sizes.begin(), sizes.end(), 0.0);
  }
};

ChangedWindows ChangedWindows::lognormal(double variation, bool same_machines) {
  ChangedWindows windows(same_machines);
  windows.sigma_ = std::sqrt(std::log(1 + variation * variation));
  return windows;
}

ChangedWindows ChangedWindows::measured(std::vector<std::vector<double>> factors, bool same_machines) {
  ChangedWindows windows(same_machines);
  windows.measured_ = std::move(factors);
  return windows;
}

ChangedWindows ChangedWindows::with_machines(size_t base, size_t other) const {
  ChangedWindows windows = *this;
  windows.base_machines_ = base;
  windows.other_machines_ = other;
  return windows;
}

double ChangedWindows::factor_of(size_t function, Random& random) const {
  if (measured_.empty()) {
    return std::lognormal_distribution(-sigma_ * sigma_ / 2, sigma_)(random);
  }
  const std::vector<double>& factors = measured_[function % measured_.size()];
  return factors[random() % factors.size()];
}

std::vector<double> ChangedWindows::shares_of_machine(Random& random) const {
  std::vector<double> shares;
  for (size_t function = 0; function < kRows; ++function) {
    shares.push_back(share_of(function) * factor_of(function, random));
  }
  return shares;
}

ChangedWindows::Profiles ChangedWindows::observe(uint32_t first_machine,
                                                 const std::vector<std::vector<double>>& shares,
                                                 double factor, Random& random) const {
  Profiles profiles;
  for (const std::vector<double>& of_machine : shares) {
    profiles.machines.push_back(first_machine + static_cast<uint32_t>(profiles.machines.size()));
    profiles.strata.push_back(0);
    double whole = 0;
    for (size_t function = 0; function < kRows; ++function) {
      const double mean = kSamples * of_machine[function] * (function == kChanging ? factor : 1);
      profiles.values.push_back(std::poisson_distribution<int>(mean)(random));
      whole += profiles.values.back();
    }
    profiles.values.push_back(whole);
    profiles.sizes.push_back(whole);
  }
  return profiles;
}

ChangeTrials ChangedWindows::run(size_t trials, double factor, uint64_t seed) const {
  Random random(seed);
  ChangeTrials counts{.trials = trials};
  for (size_t trial = 0; trial < trials; ++trial) {
    std::vector<std::vector<double>> base(base_machines_);
    std::ranges::generate(base, [&] { return shares_of_machine(random); });
    std::vector<std::vector<double>> other = base;
    if (!same_machines_) {
      other.resize(other_machines_);
      std::ranges::generate(other, [&] { return shares_of_machine(random); });
    }
    const Profiles x = observe(0, base, 1, random);
    const Profiles y =
        observe(same_machines_ ? 0 : static_cast<uint32_t>(base_machines_), other, factor, random);
    const std::vector<double> p_values =
        statistics::change_by_chance(x.window(), y.window(),
                                     {.rows = kRows, .permutations = kPermutations, .seed = trial})
            .p_values;
    size_t first = kRows;
    double largest = 0;
    for (size_t function = 0; function < kRows; ++function) {
      const double change = std::abs(y.share(function) - x.share(function));
      if (p_values[function] < kLevel && change > largest) {
        largest = change;
        first = function;
      }
    }
    counts.any += first < kRows ? 1 : 0;
    counts.found_first += first == kChanging ? 1 : 0;
  }
  return counts;
}

}  // namespace plimsoll::fleets
