// The values of a test and a control arm, brought to the same mix of times and places: what compare_percentiles() computes with.
//
// Pure: no I/O, no state; any thread. The order of calls: read_arm() of both, find_cells(), weigh() of both, find_waves(), finish_arm() of both.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "statistics/percentile_change.h"

namespace plimsoll::statistics {

// A slot of time at a place; compared within.
struct Where {
  int64_t slot = 0;
  uint32_t place = 0;
  auto operator<=>(const Where&) const = default;
};

// What one user did at one time and place.
struct UserCell {
  uint32_t user = 0;  // from 0
  Where where = {};
  uint32_t cell = 0;
  double count = 0;
  double widen = 1;  // see finish_arm()
};

// A value, and how many times its user had it there.
struct SortedValue {
  double value = 0;
  uint32_t user_cell = 0;
  double count = 0;
  double up_to = 0;  // share of the arm's mass at this value or below
};

// The values of an arm, and what they weigh.
struct PercentileArm {
  std::vector<SortedValue> values;
  std::vector<UserCell> user_cells;  // by user, then by time
  std::vector<double> cell_counts;
  std::vector<double> cell_weights;  // of a value of the cell; all masses sum to 1
  size_t users = 0;
  double matched = 0;
};

// Where any arm has values, and what is seen of times by them.
struct Cells {
  std::vector<Where> where;    // ascending
  std::vector<double> masses;  // of either arm
  // Of each cell, the value of each wave at its time: see find_waves().
  std::vector<double> waves;
  size_t wave_count = 0;
  double seen_by_waves = 1;  // of the variance of what lasts as long as incidents do

  std::span<const double> waves_of(size_t cell) const {
    return std::span(waves).subspan(cell * wave_count, wave_count);
  }
  size_t size() const { return where.size(); }
};

struct MatchedTime {
  int64_t time_ns = 0;  // from the first slot that both arms have to the last one
  // The effective number (Kish) of blocks in which both arms have something: gaps, and a few stray values, tell nothing of times.
  size_t blocks = 0;
};

// kInvalid where the arm (a name for the message) is empty, or has a time, value or count out of range.
Status check_values(std::span<const ArmValue> values, const char* arm);

PercentileArm read_arm(std::span<const ArmValue> values, int64_t slot_ns);

// Of both arms, which learn the cell of each of their parts.
Cells find_cells(std::array<PercentileArm*, 2> arms);

// Overlap weights: n_C n_T / (n_C + n_T) of each arm in each cell, so that both have the same mix of times and places, and cells that only
// one arm has count nothing. Li, Morgan and Zaslavsky, JASA 113 (2018).
void weigh(PercentileArm& arm, const PercentileArm& other, Cells& cells);

// Leverages of users, and the distribution of the arm's mass by value.
void finish_arm(PercentileArm& arm);

// The value below or at which this share of the arm's mass lies.
double percentile_of(const PercentileArm& arm, double share);

// Cosines of 1/2, 1, 3/2, ... periods over the time, which is measured by the arms' mass; mean squares are 1. What is correlated over less time
// than a period of the fastest of them has the same variance in each as in the mean, and what lasts longer more in the mean: equal-weighted
// cosines, Lazarus, Lewis, Stock and Watson, J. Business & Economic Statistics 36 (2018).
void find_waves(Cells& cells, size_t count, const PercentileRequest& request);

MatchedTime matched_time(const Cells& cells, int64_t slot_ns, int64_t block_ns);

}  // namespace plimsoll::statistics
