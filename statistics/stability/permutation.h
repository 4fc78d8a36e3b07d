// What two windows would look like had chance alone dealt the machines out to them: a permutation of machines.
//
// A machine that is in both windows swaps its two profiles, or not; the machines that are in one alone trade places within
// their stratum. If nothing but chance tells the windows apart, what was observed is one of these permutations like any other.
// docs/statistics.md has the sources.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

namespace plimsoll::statistics {

// The machines of a window, each with a profile.
struct Window {
  std::vector<uint32_t> machines;  // names them across windows; ascending, none twice
  std::vector<uint32_t> strata;    // of each; the same for both windows where a machine is in both
  // Weighted, machine by machine: a value for each row.
  std::span<const double> values;
  // Of each machine, how much it is of its window (its time, all its value): a profile that moves to the other window is brought to what
  // is usual there in its stratum. Empty: as many of either window stand for the same, so that one of the smaller stands for more.
  std::span<const double> sizes = {};
};

// Totals by row of each window.
struct WindowTotals {
  std::vector<double> x;
  std::vector<double> y;
};

// More machines than this are dealt out in random bundles of equal size: as true a test, of fewer permutations than there are.
constexpr size_t kPermutationUnits = 512;

using EachPermutation = std::function<void(std::span<const double> x, std::span<const double> y)>;

class WindowPermutation {
 public:
  // Copies the values, bundled. Costs a pass over them.
  WindowPermutation(const Window& x, const Window& y, size_t rows, uint64_t seed);

  const WindowTotals& observed() const { return observed_; }
  // Units that can change places; below about 8, too few to tell chance by.
  size_t units() const { return units_.size(); }

  // Calls `each` with the totals of as many random permutations, which are there for that time only: the same ones on every
  // call. Costs units x rows additions each.
  void run(size_t permutations, const EachPermutation& each) const;

 private:
  // What it adds to x where it is chosen is its gain, and so many times that is what it takes from y.
  struct Unit {
    double rate = 1;
  };
  // Of the units of a pool, `chosen` are taken at random; or, where they are pairs, each by the toss of a coin.
  struct Pool {
    std::vector<uint32_t> units = {};
    size_t chosen = 0;
    bool is_paired = false;
  };
  class Builder;

  void choose(std::mt19937_64& random, std::vector<uint32_t>& chosen) const;
  // Moves the chosen units' rows from `first` to before `last`.
  void add_gains(std::span<const uint32_t> chosen, size_t first, size_t last, WindowTotals& totals) const;

  size_t rows_;
  uint64_t seed_;
  WindowTotals observed_;
  WindowTotals base_;  // with no unit chosen
  std::vector<Unit> units_;
  std::vector<Pool> pools_;
  std::vector<double> gains_;  // unit by unit, a value for each row
};

}  // namespace plimsoll::statistics
