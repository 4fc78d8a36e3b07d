#include "statistics/stability/distance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll::statistics {
namespace {

void add_top(std::span<const double> values, size_t top, std::vector<uint32_t>& rows) {
  std::vector<uint32_t> order;
  for (uint32_t row = 0; row < values.size(); ++row) {
    if (values[row] > 0) {
      order.push_back(row);
    }
  }
  if (order.size() > top) {
    std::ranges::nth_element(order, order.begin() + static_cast<ptrdiff_t>(top), [&](uint32_t a, uint32_t b) {
      return values[a] != values[b] ? values[a] > values[b] : a < b;
    });
    order.resize(top);
  }
  rows.insert(rows.end(), order.begin(), order.end());
}

}  // namespace

std::vector<uint32_t> union_of_top(std::span<const double> x, std::span<const double> y, size_t top) {
  std::vector<uint32_t> rows;
  add_top(x, top, rows);
  add_top(y, top, rows);
  std::ranges::sort(rows);
  const auto repeated = std::ranges::unique(rows);
  rows.erase(repeated.begin(), repeated.end());
  return rows;
}

double manhattan_distance(std::span<const double> x, std::span<const double> y, size_t top) {
  const double sum_x = std::accumulate(x.begin(), x.end(), 0.0);
  const double sum_y = std::accumulate(y.begin(), y.end(), 0.0);
  double distance = 0;
  for (const uint32_t row : union_of_top(x, y, top)) {
    distance += std::abs((sum_x > 0 ? x[row] / sum_x : 0) - (sum_y > 0 ? y[row] / sum_y : 0));
  }
  return distance;
}

}  // namespace plimsoll::statistics
