#include "statistics/stability/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "statistics/stability/distance.h"
#include "statistics/stability/entropy.h"
#include "statistics/stability/row_changes.h"

namespace plimsoll::statistics {
namespace {

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double mean(std::span<const double> values) {
  return values.empty() ? 0 : sum(values) / static_cast<double>(values.size());
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
  return {observed, mean(permuted), upper(permuted), permutation_p_value(observed, permuted)};
}

// Either way, as far from what chance makes of it on average.
ByChance two_sided(double observed, std::vector<double> permuted) {
  const double center = mean(permuted);
  for (double& value : permuted) {
    value = std::abs(value - center);
  }
  return {observed, center, upper(permuted), permutation_p_value(std::abs(observed - center), permuted)};
}

double share_of(double value, double whole) {
  return whole > 0 ? value / whole : 0;
}

// By how much the rows' shares differ.
std::vector<double> share_changes(std::span<const uint32_t> rows, std::span<const double> x,
                                  std::span<const double> y) {
  const double sum_x = sum(x);
  const double sum_y = sum(y);
  std::vector<double> changes;
  for (const uint32_t row : rows) {
    changes.push_back(share_of(y[row], sum_y) - share_of(x[row], sum_x));
  }
  return changes;
}

}  // namespace

Comparison compare(const Window& x, const Window& y, const ComparisonRequest& request) {
  const WindowPermutation permutation(x, y, request.rows, request.seed);
  const WindowTotals& totals = permutation.observed();
  const std::vector<uint32_t> rows = union_of_top(totals.x, totals.y, request.top);
  std::vector<double> distances;
  std::vector<double> entropy_changes;
  RowChanges changes(rows.size());
  permutation.run(request.permutations,
                  [&](std::span<const double> permuted_x, std::span<const double> permuted_y) {
                    distances.push_back(manhattan_distance(permuted_x, permuted_y, request.top));
                    entropy_changes.push_back(entropy(permuted_y) - entropy(permuted_x));
                    changes.add(share_changes(rows, permuted_x, permuted_y));
                  });
  Comparison comparison;
  comparison.units = permutation.units();
  comparison.distance = one_sided(manhattan_distance(totals.x, totals.y, request.top), distances);
  comparison.entropy_change = two_sided(entropy(totals.y) - entropy(totals.x), std::move(entropy_changes));
  const std::vector<double> p_values = changes.p_values(share_changes(rows, totals.x, totals.y));
  const double sum_x = sum(totals.x);
  const double sum_y = sum(totals.y);
  for (size_t i = 0; i < rows.size(); ++i) {
    comparison.rows.push_back(
        {rows[i], share_of(totals.x[rows[i]], sum_x), share_of(totals.y[rows[i]], sum_y), p_values[i]});
  }
  return comparison;
}

}  // namespace plimsoll::statistics
