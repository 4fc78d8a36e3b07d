// A statistic of a row over sampled machines, made linear: what each machine adds to its error, to first order.
// docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <span>

namespace plimsoll::statistics {

// What the machines of a design bring to a row: of as many machines each.
struct RowSums {
  // Weighted: what the machine's hits stand for in the fleet and in the draws' intervals. Finite, not negative.
  std::span<const double> numerator;
  std::span<const double> denominator;
  // What each sample behind them stands for, squared, and added up: the variance of a sum of samples that come at random (Poisson),
  // which stand for as much or as little as they do.
  std::span<const double> numerator_squares;
  std::span<const double> denominator_squares;
};

enum class Statistic {
  kShare,  // the numerator is a part of the denominator: samples of one are among those of the other
  kRatio,  // of what is counted apart (IPC)
  kRate,   // per unit of what is known exactly (time, quota); squares of denominators are not looked at
  kTotal,  // the numerator alone; denominators are not looked at
};

// Borrows the sums.
class LinearizedRow {
 public:
  // `is_alone`: one machine is all that it is of, so that nothing is known of others. Costs a pass over the machines.
  LinearizedRow(Statistic statistic, const RowSums& sums, bool is_alone);

  Statistic statistic() const { return statistic_; }
  double numerator() const { return numerator_; }
  double denominator() const { return denominator_; }  // of a total: 1
  double value() const { return numerator_ / denominator_; }

  // By what the machine pulls the value to its own. They add up to 0, but for the correction of a machine that is a large part of all:
  // it pulls so much that its residual would come out too small.
  double residual(size_t machine) const;
  // The variance of that by the noise of the machine's counts alone.
  double within(size_t machine) const;

  // Whether the machine has samples of the row.
  bool contributes(size_t machine) const { return sums_.numerator_squares[machine] > 0; }
  // Machines that have samples of the row; of a share, of all the rest.
  size_t contributors() const;
  size_t contributors_of_rest() const;
  // The effective number of samples: so many that all stand for as much would be as exact (L. Kish, Survey Sampling, 1965, 11.7).
  // Of the rarer of the two: of a share, of the row and all the rest; of a ratio, of both events.
  double rarer_samples() const;
  // What samples of the row are in proportion to, where two such rows are alike: samples of the denominator (their effective number),
  // or what is known exactly.
  double exposure() const;

 private:
  // What the denominator has and the numerator has not.
  double rest(size_t machine) const;
  double rest_squares(size_t machine) const;

  const Statistic statistic_;
  const RowSums sums_;
  const bool is_alone_;
  double numerator_;
  double denominator_ = 1;
};

}  // namespace plimsoll::statistics
