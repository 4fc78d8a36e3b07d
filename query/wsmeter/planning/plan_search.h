// The search behind plan_observations(): the least sum of cost x N with sum of variance / N at most what is allowed, each N within its bounds.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::query {

// What is more than allowed by no more than that is taken for rounding: sums of a million numbers differ by it with their order.
inline constexpr double kRelativeError = 1e-12;

struct PlanTerm {
  double variance = 0;  // where N is 1
  double cost = 0;      // of one, above 0
  int64_t min = 1;
  int64_t max = 1;
};

// Where N need not be whole: N = t x sqrt(variance / cost), within bounds, of the least t that suffices.
struct PartedPlan {
  std::vector<double> counts;
  double cost = 0;
};
// `allowed` is at least what the largest N leave. Takes numbers of any size that doubles have; some 15 passes over the terms.
PartedPlan best_parted(std::span<const PlanTerm> terms, double allowed);
std::vector<int64_t> rounded_up(std::span<const PlanTerm> terms, const PartedPlan& parted);

struct WholePlan {
  std::vector<int64_t> counts;
  bool is_optimal = false;
};
// Takes steps of one in the order of what each takes off the variance for its cost, which is best where costs are equal. Where they are not, takes
// back what then is not needed, and looks among the plans near that one, at a hundred thousand at most, in memory for as many: where there
// are more, the plan is not known to be optimal.
WholePlan best_whole(std::span<const PlanTerm> terms, double allowed);

}  // namespace plimsoll::query
