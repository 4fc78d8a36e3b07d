#include "query/placement/blame.h"

#include <algorithm>
#include <span>
#include <utility>

namespace plimsoll::query {
namespace {

constexpr double kMinWeight = 1e-6;

// Of a job that can run only on platforms with weight; nothing: of another.
std::optional<double> need_of(const PlacementProblem& problem, std::span<const Pair> of_job,
                              std::span<const double> weights) {
  const auto is_free = [&](const Pair& pair) { return weights[pair.platform] < kMinWeight; };
  if (std::ranges::any_of(of_job, is_free)) {
    return std::nullopt;
  }
  return problem.loads[of_job.front().job] * std::ranges::min(of_job, {}, &Pair::cost).cost;
}

}  // namespace

Blame blame_for(const PlacementProblem& problem, const Shortage& shortage) {
  Blame blame;
  for (uint32_t i = 0; i < problem.capacities.size(); ++i) {
    if (shortage.weights[i] >= kMinWeight) {
      blame.platforms.push_back(i);
      blame.capacity += problem.capacities[i];
    }
  }
  const std::vector<size_t> first = problem.first_pairs();
  std::vector<std::pair<double, uint32_t>> needs;
  for (uint32_t job = 0; job < problem.loads.size(); ++job) {
    const auto of_job = std::span(problem.pairs).subspan(first[job], first[job + 1] - first[job]);
    if (const auto need = need_of(problem, of_job, shortage.weights)) {
      needs.emplace_back(-*need, job);
      blame.needed += *need;
    }
  }
  std::ranges::sort(needs);
  for (const auto& [need, job] : needs) {
    blame.jobs.push_back(job);
  }
  return blame;
}

}  // namespace plimsoll::query
