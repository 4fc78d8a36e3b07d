// Whether what is in use grows steadily, by more than chance: leaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

// How much is in use at a moment, of everything that a series is about: all of a process's heap.
struct GrowthSnapshot {
  uint32_t series = 0;  // of one process after the other, at one place
  int64_t time_ns = 0;
  double whole = 0;
};

struct Growth {
  // Of the newest whole period: the mean over its time, summed over processes.
  double in_use = 0;
  // From one period to the next, on average.
  double per_period = 0;
  double standard_error = 0;  // of that; as large as sampling alone makes it, at least
  size_t steps = 0;  // from one period to the next; fewer than kMinGrowthSteps: nothing below is known
  double p = 1;      // one-sided: that growth that is as steady comes about by chance
  // per_period of the later half of the steps over that of the earlier half; or, if that is less, per_period over the mean change within
  // the first periods after restarts. Absent where neither of those is positive.
  std::optional<double> late_share;
};

inline constexpr size_t kMinGrowthSteps = 3;
// Growth that is under this share of what it was earlier levels off.
inline constexpr double kLevelsOff = 0.5;

// The steps in time that growth is measured by, of the snapshots of a selection. Immutable.
//
// Means over whole periods, counted back from the newest snapshot, are compared with the means of the periods before: waves of that
// length (a day's load) cancel. Let d_k be the sum of the changes from period k-1 to k, over the processes that lived through both.
// The statistic is Student's t of d_1 .. d_n against a mean of 0, n - 1 degrees of freedom, one-sided (Student, Biometrika 6, 1908).
// Of a random walk, which is how caches behave, the d_k are independent and the test is exact; of what varies around a level they are
// correlated negatively, sum up to the last minus the first, and it accuses less often than it says. A trend test of the values
// themselves (Mann 1945, Kendall 1975) would accuse every random walk. What grows once (a table that is loaded, a warm-up) has one large
// d_k among small ones, and t of about 1.
//
// The variance of the mean of d is at least |mean d| * q / n, where q is what a sample stands for: a change of b bytes that were
// sampled as b/q objects has that by Poisson sampling alone. Without it a site whose few samples came one a period would have none.
//
// A process that restarts begins again: where the whole falls under half of what it was a snapshot before, a lifetime ends, and a new
// one begins. The change from the first whole period of a lifetime that began within the selection to the second is not counted: it warms
// up. It is what later growth is compared with, since what is left of warming up is steady too, restart after restart. A restart that is
// not seen is a large negative change, which makes growth less significant.
class GrowthSteps {
 public:
  // The snapshots are in any order; the values of growth() come in the same.
  GrowthSteps(std::span<const GrowthSnapshot> snapshots, int64_t period_ns);

  // Of a part of the whole, by snapshot. `per_sample`: what a sample of it stands for, on average. Costs a look at each snapshot.
  Growth growth(std::span<const double> values, double per_sample) const;

  // From one period to the next, with at least one process that lived through both.
  size_t steps() const { return steps_; }
  // That live in the newest period for which there is a step.
  size_t processes() const { return processes_; }

 private:
  // The snapshots of one lifetime within one period.
  struct Cell {
    size_t period = 0;  // 0: the newest
    std::vector<size_t> snapshots;
  };
  // Cells that follow one another without a gap, the newest first.
  struct Chain {
    std::vector<Cell> cells;
    bool is_restarted = false;  // the last cell is of a process that warms up

    // Changes between cells that count; the one after them, if any, is of warming up.
    size_t steps() const { return cells.size() - 1 - (is_restarted ? 1 : 0); }
  };

  void add_lifetime(std::span<const GrowthSnapshot> snapshots, std::span<const size_t> order,
                    bool is_restarted);

  int64_t period_ns_;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  std::vector<Chain> chains_;
  size_t periods_ = 0;
  size_t steps_ = 0;
  size_t processes_ = 0;
};

}  // namespace plimsoll::statistics
