#include "query/placement/placement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "query/placement/linear_program.h"

namespace plimsoll::query {
namespace {

// Shares of a job below that are what rounding leaves.
constexpr double kMinShare = 1e-9;

// Of use beside capacity that is missing, to begin with: placements of which some cost more are told apart faster than those that are all the same.
constexpr double kCostOfUse = 0.1;

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

Status check_pair(const PlacementProblem& problem, size_t number) {
  const Pair& pair = problem.pairs[number];
  if (pair.job >= problem.loads.size() || pair.platform >= problem.capacities.size()) {
    return fail(ErrorCode::kInvalid, "pair {}: no such job {} or platform {}", number, pair.job,
                pair.platform);
  }
  if (!is_positive(pair.cost)) {
    return fail(ErrorCode::kInvalid, "pair {}: the cost is {}, must be finite and above 0", number,
                pair.cost);
  }
  const double margin = pair.margin.value_or(0);
  if (!std::isfinite(margin) || margin < 0) {
    return fail(ErrorCode::kInvalid, "pair {}: the margin is {}, must be finite and not negative", number,
                margin);
  }
  return {};
}

Status check_numbers(std::span<const double> numbers, std::string_view what) {
  const auto wrong = std::ranges::find_if_not(numbers, is_positive);
  return wrong == numbers.end() ? Status()
                                : fail(ErrorCode::kInvalid, "{} {} is {}, must be finite and above 0", what,
                                       wrong - numbers.begin(), *wrong);
}

Status check_order(const PlacementProblem& problem) {
  const auto key = [](const Pair& pair) { return std::tuple(pair.job, pair.platform); };
  const auto wrong = std::ranges::adjacent_find(problem.pairs, std::ranges::greater_equal(), key);
  if (wrong != problem.pairs.end()) {
    return fail(ErrorCode::kInvalid, "pair {} is out of order: sort by job, then platform",
                wrong - problem.pairs.begin() + 1);
  }
  const std::vector<size_t> first = problem.first_pairs();
  const auto lone = std::ranges::adjacent_find(first);
  return lone == first.end()
             ? Status()
             : fail(ErrorCode::kInvalid, "job {} can run on no platform", lone - first.begin());
}

Status check(const PlacementProblem& problem) {
  if (auto loads = check_numbers(problem.loads, "the load of job"); !loads) {
    return loads;
  }
  if (auto capacities = check_numbers(problem.capacities, "the capacity of platform"); !capacities) {
    return capacities;
  }
  for (size_t i = 0; i < problem.pairs.size(); ++i) {
    if (auto pair = check_pair(problem, i); !pair) {
      return pair;
    }
  }
  return check_order(problem);
}

// Values are shares of a job's load, and capacities are 1: tolerances then mean the same for all.
LinearProgram scaled_program(const PlacementProblem& problem, double objective_scale) {
  LinearProgram program;
  const size_t jobs = problem.loads.size();
  for (size_t i = 0; i < jobs; ++i) {
    program.add_row(1, 1);
  }
  for (size_t i = 0; i < problem.capacities.size(); ++i) {
    program.add_row(-kUnbounded, 1);
  }
  for (const Pair& pair : problem.pairs) {
    const double use = pair.cost * problem.loads[pair.job];
    program.add_column(
        use * objective_scale,
        std::array{LinearProgram::Entry{pair.job, 1},
                   LinearProgram::Entry{jobs + pair.platform, use / problem.capacities[pair.platform]}});
  }
  return program;
}

// By platform, of rows whose prices are those of scaled capacities.
std::vector<double> platform_prices(const PlacementProblem& problem, const LinearSolution& solution,
                                    double scale) {
  std::vector<double> prices;
  for (size_t i = 0; i < problem.capacities.size(); ++i) {
    const double price = -solution.prices[problem.loads.size() + i] * scale / problem.capacities[i];
    prices.push_back(std::max(0.0, price));
  }
  return prices;
}

// The sum over jobs of load x the least of cost x weight, less the sum of capacity x price.
double dual_bound(const PlacementProblem& problem, std::span<const double> weights,
                  std::span<const double> prices) {
  const std::vector<size_t> first = problem.first_pairs();
  double bound = 0;
  for (size_t job = 0; job < problem.loads.size(); ++job) {
    double least = kUnbounded;
    for (size_t i = first[job]; i < first[job + 1]; ++i) {
      least = std::min(least, problem.pairs[i].cost * weights[problem.pairs[i].platform]);
    }
    bound += problem.loads[job] * least;
  }
  return bound - std::inner_product(prices.begin(), prices.end(), problem.capacities.begin(), 0.0);
}

// Shares without what rounding left, which come to 1 for each job.
std::vector<double> clean_loads(const PlacementProblem& problem, std::span<const double> shares) {
  std::vector<double> loads(problem.pairs.size());
  std::vector<double> sums(problem.loads.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    loads[i] = shares[i] < kMinShare ? 0 : shares[i];
    sums[problem.pairs[i].job] += loads[i];
  }
  for (size_t i = 0; i < loads.size(); ++i) {
    const uint32_t job = problem.pairs[i].job;
    loads[i] *= problem.loads[job] / sums[job];
  }
  return loads;
}

Placement placement_of(const PlacementProblem& problem, const LinearSolution& solution, double scale) {
  Placement placement;
  placement.loads = clean_loads(problem, solution.values);
  placement.prices = platform_prices(problem, solution, scale);
  for (size_t i = 0; i < problem.pairs.size(); ++i) {
    placement.cost += placement.loads[i] * problem.pairs[i].cost;
  }
  std::vector<double> weights = placement.prices;
  std::ranges::for_each(weights, [](double& weight) { ++weight; });
  placement.min_cost = std::min(placement.cost, dual_bound(problem, weights, placement.prices));
  return placement;
}

// What a job costs in the mean, which its share is scaled to.
double mean_cost(const PlacementProblem& problem) {
  double sum = 0;
  for (const Pair& pair : problem.pairs) {
    sum += pair.cost * problem.loads[pair.job];
  }
  return sum / static_cast<double>(problem.pairs.size());
}

// The least capacity that is to be added: each platform may do more than it can, at a cost of 1 a unit, and nothing else costs.
Result<std::variant<Placement, Shortage>> shortage_of(const PlacementProblem& problem) {
  const double all = std::reduce(problem.capacities.begin(), problem.capacities.end());
  LinearProgram program = scaled_program(problem, kCostOfUse / all);
  std::swap(program.costs, program.first_costs);
  program.costs.assign(problem.pairs.size(), 0);
  for (size_t i = 0; i < problem.capacities.size(); ++i) {
    program.add_column(problem.capacities[i] / all,
                       std::array{LinearProgram::Entry{problem.loads.size() + i, -1}});
    program.first_costs.push_back(program.costs.back());
  }
  const auto solved = solve(program);
  if (!solved) {
    return propagate(solved, "computing the shortage");
  }
  const std::optional<LinearSolution>& solution = *solved;
  if (!solution) {
    return fail(ErrorCode::kUnsupported, "Clp finds no placement, even with unlimited capacity");
  }
  Shortage shortage;
  shortage.weights = platform_prices(problem, *solution, all);
  std::ranges::for_each(shortage.weights, [](double& weight) { weight = std::min(weight, 1.0); });
  shortage.missing = std::max(0.0, dual_bound(problem, shortage.weights, shortage.weights));
  return shortage;
}

}  // namespace

std::vector<size_t> PlacementProblem::first_pairs() const {
  std::vector<size_t> first(loads.size() + 1);
  for (const Pair& pair : pairs) {
    ++first[pair.job + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

double cost_at_prices(const Pair& pair, std::span<const double> prices) {
  return pair.cost * (1 + prices[pair.platform]);
}

Result<std::variant<Placement, Shortage>> place_jobs(const PlacementProblem& problem) {
  if (problem.loads.empty()) {
    return fail(ErrorCode::kInvalid, "no jobs to place");
  }
  if (auto checked = check(problem); !checked) {
    return propagate(checked);
  }
  const double scale = mean_cost(problem);
  const auto solved = solve(scaled_program(problem, 1 / scale));
  if (!solved) {
    return propagate(solved);
  }
  const std::optional<LinearSolution>& solution = *solved;
  if (!solution) {
    return shortage_of(problem);
  }
  return placement_of(problem, *solution, scale);
}

}  // namespace plimsoll::query
