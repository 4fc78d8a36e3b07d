#include "query/statistics/stability/row_changes.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::statistics {
namespace {

// Rounding alone must not tell a permutation from what it permutes.
constexpr double kSame = 1e-12;

struct Scatter {
  double center = 0;
  double standard_deviation = 0;

  double deviations(double change) const {
    return standard_deviation > kSame ? std::abs(change - center) / standard_deviation : 0;
  }
};

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
  const size_t permutations = rows_ == 0 ? 0 : changes_.size() / rows_;
  std::vector<Scatter> scatters(rows_);
  for (size_t i = 0; i < permutations; ++i) {
    for (size_t row = 0; row < rows_; ++row) {
      scatters[row].center += changes_[i * rows_ + row] / static_cast<double>(permutations);
    }
  }
  std::vector<double> squares(rows_);
  for (size_t i = 0; i < permutations; ++i) {
    for (size_t row = 0; row < rows_; ++row) {
      const double deviation = changes_[i * rows_ + row] - scatters[row].center;
      squares[row] += deviation * deviation / static_cast<double>(permutations);
    }
  }
  for (size_t row = 0; row < rows_; ++row) {
    scatters[row].standard_deviation = std::sqrt(squares[row]);
  }
  std::vector<double> largest(permutations);
  for (size_t i = 0; i < permutations; ++i) {
    for (size_t row = 0; row < rows_; ++row) {
      largest[i] = std::max(largest[i], scatters[row].deviations(changes_[i * rows_ + row]));
    }
  }
  std::vector<double> p_values;
  for (size_t row = 0; row < rows_; ++row) {
    p_values.push_back(permutation_p_value(scatters[row].deviations(observed[row]), largest));
  }
  return p_values;
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
