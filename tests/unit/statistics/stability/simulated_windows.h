// Windows of machines that have some functions each, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "statistics/stability/permutation.h"

namespace plimsoll::statistics {

// A window and its values.
struct Machines {
  std::vector<uint32_t> machines;
  std::vector<uint32_t> strata;
  std::vector<double> values;

  Window window() const { return {machines, strata, values}; }
};

// A fleet whose machines have functions in shares of their own; observed in windows.
class WindowedFleet {
 public:
  WindowedFleet(uint32_t machines, size_t rows, uint64_t seed) : rows_(rows), rates_(machines * rows) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < rates_.size(); ++i) {
      rates_[i] = 200 / static_cast<double>(i % rows + 1) * std::gamma_distribution<double>(1, 1)(random);
    }
  }

  size_t rows() const { return rows_; }

  // Those machines, in two strata, with counts that come at random; function `row` takes `factor` times as much.
  Machines observe(const std::vector<uint32_t>& machines, std::mt19937_64& random, size_t row = 0,
                   double factor = 1) const {
    Machines window{machines, {}, {}};
    for (const uint32_t machine : machines) {
      window.strata.push_back(machine % 2);
      for (size_t i = 0; i < rows_; ++i) {
        const double rate = rates_[machine * rows_ + i] * (i == row ? factor : 1);
        window.values.push_back(std::poisson_distribution<int>(rate)(random));
      }
    }
    return window;
  }

  // So many machines, in ascending order.
  std::vector<uint32_t> draw(size_t count, std::mt19937_64& random) const {
    std::vector<uint32_t> all(rates_.size() / rows_);
    std::iota(all.begin(), all.end(), 0U);
    std::vector<uint32_t> drawn;
    std::ranges::sample(all, std::back_inserter(drawn), static_cast<ptrdiff_t>(count), random);
    return drawn;
  }

 private:
  size_t rows_;
  std::vector<double> rates_;
};

}  // namespace plimsoll::statistics
