#include "statistics/rank_test.h"

#include <cmath>

#include "statistics/incomplete_beta.h"

namespace plimsoll::statistics {
namespace {

// How many values from `begin` on equal `value`.
size_t run_length(std::span<const double> values, size_t begin, double value) {
  size_t end = begin;
  while (end < values.size() && values[end] == value) {
    ++end;
  }
  return end - begin;
}

}  // namespace

double RankTest::p() const {
  return normal_cdf(-z);
}

RankTest mann_whitney(std::span<const double> first, std::span<const double> second) {
  if (first.empty() || second.empty()) {
    return {};
  }
  double wins = 0;  // U
  double ties = 0;  // sum of t^3 - t over groups of equal values
  size_t of_first = 0;
  size_t of_second = 0;
  while (of_first < first.size() || of_second < second.size()) {
    const bool takes_first =
        of_second == second.size() || (of_first < first.size() && first[of_first] <= second[of_second]);
    const double value = takes_first ? first[of_first] : second[of_second];
    const size_t in_first = run_length(first, of_first, value);
    const size_t in_second = run_length(second, of_second, value);
    wins +=
        static_cast<double>(in_first) * (static_cast<double>(of_second) + static_cast<double>(in_second) / 2);
    const auto equal = static_cast<double>(in_first + in_second);
    ties += equal * equal * equal - equal;
    of_first += in_first;
    of_second += in_second;
  }
  const auto n = static_cast<double>(first.size());
  const auto m = static_cast<double>(second.size());
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  RankTest test{.z = 0, .auc = wins / (n * m)};
  if (variance > 0) {
    test.z = (wins - n * m / 2) / std::sqrt(variance);
  }
  return test;
}

}  // namespace plimsoll::statistics
