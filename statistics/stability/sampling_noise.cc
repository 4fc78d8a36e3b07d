#include "statistics/stability/sampling_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace plimsoll::statistics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double fleet_of(const Design& design) {
  double fleet = 0;
  for (size_t i = 0; i < design.machines(); ++i) {
    fleet += design.inclusion_probability(i) > 0 ? 1 / design.inclusion_probability(i) : kInfinity;
  }
  return fleet;
}

// What each machine has of the distance, to first order: a row's part of it is the root of a sum over machines.
class Influences {
 public:
  explicit Influences(size_t machines) : by_machine_(machines) {}

  void add_row(std::span<const double> residuals) {
    const double root =
        std::sqrt(std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0));
    for (size_t i = 0; root > 0 && i < residuals.size(); ++i) {
      by_machine_[i] += residuals[i] * residuals[i] / (2 * root);
    }
    distance_ += root;
  }

  // Of the distance; as machines are drawn independently of each other.
  double relative_error() const {
    const auto machines = static_cast<double>(by_machine_.size());
    const double mean = std::accumulate(by_machine_.begin(), by_machine_.end(), 0.0) / machines;
    double squares = 0;
    for (const double influence : by_machine_) {
      squares += (influence - mean) * (influence - mean);
    }
    return distance_ > 0 && machines > 1 ? std::sqrt(squares * machines / (machines - 1)) / distance_ : 0;
  }

 private:
  std::vector<double> by_machine_;
  double distance_ = 0;
};

}  // namespace

SamplingNoise::SamplingNoise(const Design& design, std::span<const RowSums> rows)
    : machines_(design.machines()), fleet_(fleet_of(design)) {
  const double left = 1 - static_cast<double>(machines_) / fleet_;
  Influences influences(machines_);
  for (const RowSums& row : rows) {
    const LinearizedRow linearized(Statistic::kShare, row, machines_ == 1);
    std::vector<double> residuals(machines_);
    Row parts;
    for (size_t i = 0; i < machines_; ++i) {
      residuals[i] = linearized.residual(i);
      parts.within += linearized.within(i);
    }
    // What is seen between machines has the noise of their counts in it.
    const double seen = left > 0 ? design.spread(residuals).variance / left : 0;
    parts.between = std::max(0.0, seen - parts.within);
    rows_.push_back(parts);
    influences.add_row(residuals);
  }
  relative_error_ = influences.relative_error();
}

double SamplingNoise::distance(double machines, double time) const {
  const double more = machines / static_cast<double>(machines_);
  const double left = std::max(0.0, 1 - machines / fleet_);
  double sum = 0;
  for (const Row& row : rows_) {
    sum += std::sqrt((row.between * left + row.within / time) / more);
  }
  // The difference of two draws has twice the variance of one; of a normal variable of mean 0, |.| is sqrt(2 / pi) of its
  // standard deviation on average.
  return 2 * std::numbers::inv_sqrtpi * sum;
}

std::optional<size_t> SamplingNoise::machines_for(double distance) const {
  // One side of 95 %.
  constexpr double kDeviations = 1.645;
  const auto is_too_few = [&](size_t machines) {
    const auto count = static_cast<double>(machines);
    // What these machines and more will say is as far from what these say as the others are unlike them.
    const double others = std::max(0.0, 1 - static_cast<double>(machines_) / count);
    return this->distance(count, 1) * (1 + kDeviations * relative_error_ * std::sqrt(others)) > distance;
  };
  auto most = static_cast<size_t>(std::ceil(std::min(fleet_, 1e9)));
  if (is_too_few(most)) {
    return std::nullopt;
  }
  size_t too_few = 0;
  while (most - too_few > 1) {
    const size_t middle = too_few + (most - too_few) / 2;
    (is_too_few(middle) ? too_few : most) = middle;
  }
  return most;
}

std::optional<double> SamplingNoise::time_for(double distance) const {
  const auto machines = static_cast<double>(machines_);
  constexpr double kMax = 1e6;
  if (this->distance(machines, kMax) > distance) {
    return std::nullopt;
  }
  double least = 0;
  double most = kMax;
  while (most - least > 1e-3 * most && most > 1) {
    const double middle = (least + most) / 2;
    (this->distance(machines, middle) > distance ? least : most) = middle;
  }
  return std::max(1.0, most);
}

}  // namespace plimsoll::statistics
