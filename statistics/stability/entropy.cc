#include "statistics/stability/entropy.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace plimsoll::statistics {
namespace {

// Of the values added so far: log2 sum - sum v log2 v / sum.
class RunningEntropy {
 public:
  void add(double value) {
    if (value > 0) {
      sum_ += value;
      weighted_ += value * std::log2(value);
    }
  }
  double value() const { return sum_ > 0 ? std::log2(sum_) - weighted_ / sum_ : 0; }

 private:
  double sum_ = 0;
  double weighted_ = 0;
};

}  // namespace

double entropy(std::span<const double> values) {
  RunningEntropy entropy;
  for (const double value : values) {
    entropy.add(value);
  }
  return entropy.value();
}

double missing_entropy(size_t entries, double samples) {
  return entries > 1 && samples > 0 ? static_cast<double>(entries - 1) / (2 * samples * std::numbers::ln2)
                                    : 0;
}

Estimate entropy(const Jackknife& jackknife, std::span<const double> cell_sums, size_t rows) {
  std::vector<RunningEntropy> without(jackknife.groups());
  RunningEntropy whole;
  std::vector<double> totals(jackknife.groups());
  for (size_t row = 0; row < rows; ++row) {
    const auto sums = cell_sums.subspan(row * jackknife.cells(), jackknife.cells());
    whole.add(std::accumulate(sums.begin(), sums.end(), 0.0));
    jackknife.replicate(sums, totals);
    for (size_t group = 0; group < totals.size(); ++group) {
      without[group].add(totals[group]);
    }
  }
  std::vector<double> replicates;
  for (const RunningEntropy& entropy : without) {
    replicates.push_back(entropy.value());
  }
  Estimate estimate;
  const Spread spread = jackknife.spread(whole.value(), replicates);
  estimate.value = whole.value() - jackknife.bias(whole.value(), replicates);
  estimate.machines = jackknife.machines();
  if (spread.degrees < 1) {
    estimate.margin_kind = MarginKind::kTooFewMachines;
    return estimate;
  }
  set_interval(interval(*estimate.value, std::sqrt(spread.variance), spread.degrees, Scale::kLinear),
               estimate);
  estimate.margin_kind =
      estimate.machines < kJackknifeGroups ? MarginKind::kFewMachines : MarginKind::kBetweenMachines;
  return estimate;
}

}  // namespace plimsoll::statistics
