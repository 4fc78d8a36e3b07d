#include "statistics/false_discovery.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::statistics {

std::vector<size_t> benjamini_hochberg(std::span<const double> p, double rate, size_t tests) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [p](size_t i) { return p[i]; });
  const auto all = static_cast<double>(std::max(tests, p.size()));
  size_t rejected = 0;
  for (size_t rank = 1; rank <= order.size(); ++rank) {
    if (p[order[rank - 1]] <= rate * static_cast<double>(rank) / all) {
      rejected = rank;
    }
  }
  order.resize(rejected);
  std::ranges::sort(order);
  return order;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [p](size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, p[order[rank]] * static_cast<double>(order.size() - rank));
    adjusted[order[rank]] = std::min(largest, 1.0);
  }
  return adjusted;
}

}  // namespace plimsoll::statistics
