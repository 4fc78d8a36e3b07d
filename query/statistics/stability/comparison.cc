#include "query/statistics/stability/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "query/statistics/stability/distance.h"
#include "query/statistics/stability/entropy.h"

namespace plimsoll::statistics {
namespace {

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double mean(std::span<const double> values) {
  return values.empty() ? 0 : sum(values) / static_cast<double>(values.size());
}

// Rounding alone must not tell a permutation from what it permutes.
constexpr double kSame = 1e-12;

// The share of permutations that come to as much; what was observed is one of them.
double p_value(double observed, std::span<const double> permuted) {
  const auto reached = std::ranges::count_if(
      permuted, [&](double value) { return value >= observed - kSame * std::max(1.0, std::abs(observed)); });
  return static_cast<double>(1 + reached) / static_cast<double>(1 + permuted.size());
}

double upper(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto place = static_cast<ptrdiff_t>(std::ceil(0.95 * static_cast<double>(values.size()))) - 1;
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<size_t>(place)];
}

ByChance one_sided(double observed, const std::vector<double>& permuted) {
  return {observed, mean(permuted), upper(permuted), p_value(observed, permuted)};
}

// Either way, as far from what chance makes of it on average.
ByChance two_sided(double observed, std::vector<double> permuted) {
  const double center = mean(permuted);
  for (double& value : permuted) {
    value = std::abs(value - center);
  }
  return {observed, center, upper(permuted), p_value(std::abs(observed - center), permuted)};
}

// What the windows come to under each permutation.
class Permuted {
 public:
  explicit Permuted(std::vector<uint32_t> rows, size_t top) : rows_(std::move(rows)), top_(top) {}

  void add(std::span<const double> x, std::span<const double> y) {
    distances_.push_back(manhattan_distance(x, y, top_));
    entropy_changes_.push_back(entropy(y) - entropy(x));
    const double sum_x = sum(x);
    const double sum_y = sum(y);
    for (const uint32_t row : rows_) {
      changes_.push_back(share_of(y[row], sum_y) - share_of(x[row], sum_x));
    }
  }

  const std::vector<double>& distances() const { return distances_; }
  const std::vector<double>& entropy_changes() const { return entropy_changes_; }

  // By Westfall and Young: each function's change in its own standard deviations, beside the largest of any function.
  void judge(std::vector<RowChange>& rows) const {
    std::vector<double> largest(distances_.size());
    std::vector<double> observed(rows.size());
    for (size_t row = 0; row < rows.size(); ++row) {
      const Scatter scatter = scatter_of(row);
      observed[row] = scatter.deviations(rows[row].share_y - rows[row].share_x);
      for (size_t i = 0; i < largest.size(); ++i) {
        largest[i] = std::max(largest[i], scatter.deviations(changes_[i * rows_.size() + row]));
      }
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row].p_value = p_value(observed[row], largest);
    }
  }

  static double share_of(double value, double whole) { return whole > 0 ? value / whole : 0; }

 private:
  struct Scatter {
    double center = 0;
    double standard_deviation = 0;
    double deviations(double change) const {
      return standard_deviation > 0 ? std::abs(change - center) / standard_deviation : 0;
    }
  };

  Scatter scatter_of(size_t row) const {
    Scatter scatter;
    double squares = 0;
    for (size_t i = 0; i < distances_.size(); ++i) {
      const double change = changes_[i * rows_.size() + row];
      scatter.center += change;
      squares += change * change;
    }
    const auto count = static_cast<double>(std::max<size_t>(1, distances_.size()));
    scatter.center /= count;
    scatter.standard_deviation = std::sqrt(std::max(0.0, squares / count - scatter.center * scatter.center));
    return scatter;
  }

  std::vector<uint32_t> rows_;
  size_t top_;
  std::vector<double> distances_;
  std::vector<double> entropy_changes_;
  std::vector<double> changes_;  // permutation by permutation, of the rows
};

}  // namespace

Comparison compare(const Window& x, const Window& y, const ComparisonRequest& request) {
  const WindowPermutation permutation(x, y, request.rows, request.seed);
  const WindowTotals& totals = permutation.observed();
  Permuted permuted(union_of_top(totals.x, totals.y, request.top), request.top);
  permutation.run(request.permutations,
                  [&](std::span<const double> permuted_x, std::span<const double> permuted_y) {
                    permuted.add(permuted_x, permuted_y);
                  });
  Comparison comparison;
  comparison.units = permutation.units();
  comparison.distance = one_sided(manhattan_distance(totals.x, totals.y, request.top), permuted.distances());
  comparison.entropy_change = two_sided(entropy(totals.y) - entropy(totals.x), permuted.entropy_changes());
  const double sum_x = sum(totals.x);
  const double sum_y = sum(totals.y);
  for (const uint32_t row : union_of_top(totals.x, totals.y, request.top)) {
    comparison.rows.push_back(
        {row, Permuted::share_of(totals.x[row], sum_x), Permuted::share_of(totals.y[row], sum_y)});
  }
  permuted.judge(comparison.rows);
  return comparison;
}

}  // namespace plimsoll::statistics
