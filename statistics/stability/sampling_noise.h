// What sampling alone does to a profile, split into what more machines and what more minutes would mend.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "statistics/design.h"
#include "statistics/linearized_row.h"

namespace plimsoll::statistics {

class SamplingNoise {
 public:
  // Of the rows shown, which share their denominator. Costs some passes over the machines for each.
  SamplingNoise(const Design& design, std::span<const RowSums> rows);

  size_t machines() const { return machines_; }
  // Estimated from the inclusion probabilities; infinite where one of them is not known.
  double fleet() const { return fleet_; }

  // How far two independent draws of so many machines, each observed `time` times as long as these, are expected to be apart by
  // chance: the Manhattan distance over the rows.
  double distance(double machines, double time) const;

  // How far the estimate of that distance is off, relatively: the standard error that comes of these machines being the ones drawn.
  double relative_error() const { return relative_error_; }

  // The fewest machines, these among them, of which it will be found, in 95 of 100 cases, that they bring it down to `distance`: more
  // than it takes if this estimate is right. Nothing where all that there are do not.
  std::optional<size_t> machines_for(double distance) const;
  // By what the time is to be multiplied to bring it down; at least 1; nothing where no time does, as what is left lies
  // between machines.
  std::optional<double> time_for(double distance) const;

 private:
  // Variances of a row's share for these machines: of an endless fleet in endless time, and by the counts alone.
  struct Row {
    double between = 0;
    double within = 0;
  };

  size_t machines_;
  double fleet_ = 0;
  double relative_error_ = 0;
  std::vector<Row> rows_;
};

}  // namespace plimsoll::statistics
