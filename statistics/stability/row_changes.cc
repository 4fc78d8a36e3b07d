#include "statistics/stability/row_changes.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::statistics {
namespace {

// Rounding alone must not tell a permutation from what it permutes.
constexpr double kSame = 1e-12;

// Rows over the whole, in y less in x; in parts of what the row comes to, so that rounding is told from change for any unit.
class Changes {
 public:
  explicit Changes(const WindowTotals& observed) : levels_(observed.x.size() - 1) {
    for (size_t row = 0; row < levels_.size(); ++row) {
      levels_[row] = rate(observed.x, row) + rate(observed.y, row);
    }
  }

  std::vector<double> of(std::span<const double> x, std::span<const double> y) const {
    std::vector<double> changes(levels_.size());
    for (size_t row = 0; row < changes.size(); ++row) {
      changes[row] = levels_[row] > 0 ? (rate(y, row) - rate(x, row)) / levels_[row] : 0;
    }
    return changes;
  }

 private:
  static double rate(std::span<const double> totals, size_t row) {
    return totals.back() > 0 ? totals[row] / totals.back() : 0;
  }

  std::vector<double> levels_;
};

}  // namespace

double permutation_p_value(double observed, std::span<const double> permuted) {
  const auto reached = std::ranges::count_if(
      permuted, [&](double value) { return value >= observed - kSame * std::max(1.0, std::abs(observed)); });
  return static_cast<double>(1 + reached) / static_cast<double>(1 + permuted.size());
}

void RowChanges::add(std::span<const double> changes) {
  changes_.insert(changes_.end(), changes.begin(), changes.end());
}

std::vector<double> RowChanges::p_values(std::span<const double> observed) const {
  const std::vector<Scatter> scatters = scatters_with(observed);
  std::vector<double> largest;
  for (size_t first = 0; first < changes_.size(); first += rows_) {
    double& of_permutation = largest.emplace_back(0);
    for (size_t row = 0; row < rows_; ++row) {
      of_permutation = std::max(of_permutation, scatters[row].deviations(changes_[first + row]));
    }
  }
  std::vector<double> p_values;
  for (size_t row = 0; row < rows_; ++row) {
    p_values.push_back(permutation_p_value(scatters[row].deviations(observed[row]), largest));
  }
  return p_values;
}

// What was observed is one of the permutations here too: measured by a scatter that it is not part of, it would come out as
// further away than they do.
std::vector<RowChanges::Scatter> RowChanges::scatters_with(std::span<const double> observed) const {
  std::vector<double> changes = changes_;
  changes.insert(changes.end(), observed.begin(), observed.end());
  const size_t measured = rows_ == 0 ? 0 : changes.size() / rows_;
  const auto count = static_cast<double>(measured);
  std::vector<Scatter> scatters(rows_);
  for (size_t i = 0; i < changes.size(); ++i) {
    scatters[i % rows_].center += changes[i] / count;
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    const double deviation = changes[i] - scatters[i % rows_].center;
    scatters[i % rows_].standard_deviation += deviation * deviation / count;
  }
  for (Scatter& scatter : scatters) {
    scatter.standard_deviation = std::sqrt(scatter.standard_deviation);
  }
  return scatters;
}

double RowChanges::Scatter::deviations(double change) const {
  return standard_deviation > kSame ? std::abs(change - center) / standard_deviation : 0;
}

ChangesByChance change_by_chance(const Window& x, const Window& y, const ChangeRequest& request) {
  const WindowPermutation permutation(x, y, request.rows + 1, request.seed);
  const Changes changes(permutation.observed());
  RowChanges permuted(request.rows);
  permutation.run(request.permutations,
                  [&](std::span<const double> permuted_x, std::span<const double> permuted_y) {
                    permuted.add(changes.of(permuted_x, permuted_y));
                  });
  return {permutation.units(),
          permuted.p_values(changes.of(permutation.observed().x, permutation.observed().y))};
}

}  // namespace plimsoll::statistics
