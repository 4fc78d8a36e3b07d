// By what part a ratio of events (IPC) changed from one selection to another, of one job or of several by their weights.
// docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "statistics/design.h"
#include "statistics/estimate.h"
#include "statistics/linearized_row.h"

namespace plimsoll::statistics {

// Sum of weight x (other's ratio / base's ratio), over the sum of weights, less 1: each job is measured by what it was, and none counts
// for more because it moved to faster machines (WSMeter's metric). Takes 24 bytes for each machine.
class RelativeChange {
 public:
  // The design is of the machines of either side; base_machines and other_machines of them are what a side is about. Borrows it.
  RelativeChange(const Design& design, size_t base_machines, size_t other_machines);

  // A job, of which the sums may go afterwards. Weights are above 0, in any unit, and taken to be known exactly. False, and nothing is
  // added: on one side it has none of an event, so that there is nothing to compare. Costs two passes over the machines.
  bool add(double weight, const RowSums& base, const RowSums& other);

  // No value before a job was added. The estimate's machines are those with samples, summed over both sides.
  Estimate estimate() const;
  // The chance of so large a change without a cause, by the t distribution; absent where the estimate has no margin.
  std::optional<double> p_value() const;

  // Machines with samples of a side.
  size_t base_contributors() const;
  size_t other_contributors() const;

 private:
  struct SideOfAll {
    size_t machines = 0;
    std::vector<bool> contributes;

    bool is_alone() const { return machines == 1; }
    size_t contributors() const;
  };

  void add_to_side(double pull, const LinearizedRow& row, SideOfAll& side);
  MarginKind margin_kind() const;
  double mean() const { return sum_ / weights_; }
  Spread spread() const;

  const Design& design_;
  SideOfAll base_;
  SideOfAll other_;
  double weights_ = 0;
  double sum_ = 0;                 // of weight x ratio of ratios
  std::vector<double> residuals_;  // by machine, of that sum
  double within_variance_ = 0;     // likewise
  double rarest_samples_ = 0;      // of any job, event and side
};

}  // namespace plimsoll::statistics
