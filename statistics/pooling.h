// What services would need if they shared CPUs: series of what each used, in steps as short as bursts, and whether their use depends on
// each other, also with a delay. docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/result.h"

namespace plimsoll::statistics {

struct ShiftRequest {
  size_t max_lag = 0;  // in steps, either way
  size_t block = 0;  // in steps; 0: 20 autocorrelation times, at least 4 lags, at least a 64th of the series
  // At most; fewer where kShiftExceedances of them are as large: the pair is then far from dependent.
  size_t permutations = 2000;
  uint64_t seed = 1;
  double autocorrelation_time = 0;  // the longer one of both series, where it is known; 0: it is measured
};

struct ShiftTest {
  // Where the two go together most: the second follows the first by so many steps.
  ptrdiff_t lag = 0;
  double correlation = 0;  // at that lag
  double p = 1;            // of correlations as large at any lag, if the two were independent
  size_t block = 0;
  size_t blocks = 0;
};

// Fewer blocks have too few permutations to tell.
inline constexpr size_t kMinShiftBlocks = 8;
// Besag and Clifford, Biometrika 78 (1991): p is exceedances / permutations at this many.
inline constexpr size_t kShiftExceedances = 20;

// Whether two series depend on each other at any lag. Blocks of the second are permuted against those of the first, each with
// what stood around it, so that all dependence of a series on itself within a block remains. kInvalid where lengths differ, or
// `block` is shorter than `max_lag`; kNotFound where the series is too short for kMinShiftBlocks blocks, or one does not vary.
Result<ShiftTest> test_shift(std::span<const double> first, std::span<const double> second,
                             const ShiftRequest& request);

struct PoolRequest {
  double share = 0.99;  // steps in which the need is met; within (0, 1)
  size_t shifts = 500;
  uint64_t seed = 1;
};

// CPUs that meet the need in `share` of the steps.
struct PooledNeed {
  std::vector<double> alone;  // by service
  double separate = 0;        // their sum
  double pooled = 0;          // of the sum as it was observed
  double normal = 0;          // of the sum if services were independent and normal
  // Of the sum if services were independent and distributed as observed: median and 95 % of random shifts in time against each other.
  double independent = 0;
  double independent_low = 0;
  double independent_high = 0;
};

// `services` have a value for each step. kInvalid where lengths differ, or there are no steps.
Result<PooledNeed> pool_need(std::span<const std::vector<double>> services, const PoolRequest& request);

// In steps: 1 + 2 x the sum of autocorrelations, summed while pairs of them are positive (Geyer, Statistical Science 7 (1992)). A series of n steps
// that drifts takes n^2 / 4 operations: where the sum exceeds `limit`, it is returned as far as it came.
double autocorrelation_time(std::span<const double> values,
                            double limit = std::numeric_limits<double>::infinity());
// A series of so many steps has too few blocks for test_shift() where its autocorrelation time is longer.
double max_autocorrelation_time(size_t steps);

}  // namespace plimsoll::statistics
