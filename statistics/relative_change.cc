#include "statistics/relative_change.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/linearization.h"
#include "statistics/student_t.h"

namespace plimsoll::statistics {

RelativeChange::RelativeChange(const Design& design, size_t base_machines, size_t other_machines)
    : design_(design),
      base_{base_machines, std::vector<bool>(design.machines())},
      other_{other_machines, std::vector<bool>(design.machines())},
      residuals_(design.machines()),
      rarest_samples_(std::numeric_limits<double>::infinity()) {}

bool RelativeChange::add(double weight, const RowSums& base, const RowSums& other) {
  const LinearizedRow base_row(Statistic::kRatio, base, base_.is_alone());
  const LinearizedRow other_row(Statistic::kRatio, other, other_.is_alone());
  for (const LinearizedRow* row : {&base_row, &other_row}) {
    if (row->numerator() <= 0 || row->denominator() <= 0) {
      return false;
    }
  }
  const double value = weight * other_row.value() / base_row.value();
  weights_ += weight;
  sum_ += value;
  add_to_side(value / other_row.value(), other_row, other_);
  add_to_side(-value / base_row.value(), base_row, base_);
  return true;
}

// `pull`: by how much the sum changes where the row's value does.
void RelativeChange::add_to_side(double pull, const LinearizedRow& row, SideOfAll& side) {
  for (size_t i = 0; i < residuals_.size(); ++i) {
    residuals_[i] += pull * row.residual(i);
    // What part of the noise of a machine's counts is not among the differences between machines.
    const double apart = side.is_alone() ? 1 : design_.inclusion_probability(i);
    within_variance_ += pull * pull * apart * row.within(i);
    side.contributes[i] = side.contributes[i] || row.contributes(i);
  }
  rarest_samples_ = std::min(rarest_samples_, row.rarer_samples());
}

Estimate RelativeChange::estimate() const {
  Estimate estimate;
  estimate.machines = base_contributors() + other_contributors();
  if (weights_ <= 0) {
    return estimate;
  }
  estimate.value = mean() - 1;
  estimate.margin_kind = margin_kind();
  if (has_margin(estimate.margin_kind)) {
    const Spread spread = this->spread();
    const Interval around = interval(mean(), std::sqrt(spread.variance), spread.degrees, Scale::kLog);
    set_interval({around.low - 1, around.high - 1}, estimate);
  }
  return estimate;
}

std::optional<double> RelativeChange::p_value() const {
  if (weights_ <= 0 || !has_margin(margin_kind())) {
    return std::nullopt;
  }
  const Spread spread = this->spread();
  const double standard_error = std::sqrt(spread.variance) / mean();
  if (standard_error <= 0) {
    return mean() == 1 ? 1 : 0;
  }
  return 2 * student_t_cdf(-std::abs(std::log(mean())) / standard_error, spread.degrees);
}

size_t RelativeChange::SideOfAll::contributors() const {
  return static_cast<size_t>(std::ranges::count(contributes, true));
}

size_t RelativeChange::base_contributors() const {
  return base_.contributors();
}

size_t RelativeChange::other_contributors() const {
  return other_.contributors();
}

MarginKind RelativeChange::margin_kind() const {
  const bool is_alone = base_.is_alone() || other_.is_alone();
  if (is_alone || design_.is_census()) {
    if (rarest_samples_ < kMinSamples) {
      return MarginKind::kTooFewSamples;
    }
    return is_alone ? MarginKind::kWithinOneMachine : MarginKind::kWithinMachines;
  }
  return std::max(kind_between_machines(base_.contributors(), base_.machines),
                  kind_between_machines(other_.contributors(), other_.machines));
}

Spread RelativeChange::spread() const {
  Spread spread =
      plus_counts(design_.machines() == 1 ? Spread() : design_.spread(residuals_), within_variance_);
  spread.variance /= weights_ * weights_;
  return spread;
}

}  // namespace plimsoll::statistics
