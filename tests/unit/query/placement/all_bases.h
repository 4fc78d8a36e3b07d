// The least cost of a small linear program, by trying every choice of basic variables: nothing in common with the solver that it checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "query/placement/placement.h"

namespace plimsoll::query {

// minimize costs x value, where rows x value = bounds and each value is at least 0
struct StandardForm {
  std::vector<std::vector<long double>> columns;  // each by row
  std::vector<long double> costs;
  std::vector<long double> bounds;
};

// Values of the chosen columns that fulfil the rows, by Gauss's elimination with pivoting; nothing where these columns depend on each other.
inline std::optional<std::vector<long double>> basic_values(const StandardForm& form,
                                                            const std::vector<size_t>& chosen) {
  const size_t size = form.bounds.size();
  std::vector<std::vector<long double>> rows(size, std::vector<long double>(size + 1));
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      rows[i][j] = form.columns[chosen[j]][i];
    }
    rows[i][size] = form.bounds[i];
  }
  for (size_t step = 0; step < size; ++step) {
    const auto pivot = std::ranges::max_element(rows.begin() + static_cast<ptrdiff_t>(step), rows.end(), {},
                                                [&](const auto& row) { return std::fabs(row[step]); });
    if (std::fabs((*pivot)[step]) < 1e-12L) {
      return std::nullopt;
    }
    std::swap(rows[step], *pivot);
    for (size_t i = 0; i < size; ++i) {
      const long double factor = i == step ? 0 : rows[i][step] / rows[step][step];
      for (size_t j = step; factor != 0 && j <= size; ++j) {
        rows[i][j] -= factor * rows[step][j];
      }
    }
  }
  std::vector<long double> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = rows[i][size] / rows[i][i];
  }
  return values;
}

// Nothing: no values fulfil the rows.
inline std::optional<double> min_of_all_bases(const StandardForm& form) {
  std::optional<double> least;
  std::vector<char> is_chosen(form.columns.size());
  std::fill_n(is_chosen.begin(), form.bounds.size(), 1);
  do {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < is_chosen.size(); ++i) {
      if (is_chosen[i] != 0) {
        chosen.push_back(i);
      }
    }
    const auto values = basic_values(form, chosen);
    if (!values || std::ranges::min(*values) < -1e-12L) {
      continue;
    }
    long double cost = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      cost += form.costs[chosen[i]] * (*values)[i];
    }
    least = std::min(least.value_or(HUGE_VAL), static_cast<double>(cost));
  } while (std::ranges::prev_permutation(is_chosen).found);
  return least;
}

// Variables: the load of each pair, what is left of each platform, and, where capacity may be bought, how much of each; only that costs then.
inline StandardForm standard_form(const PlacementProblem& problem, bool buys_capacity) {
  const size_t jobs = problem.loads.size();
  const size_t platforms = problem.capacities.size();
  StandardForm form;
  form.bounds.assign(problem.loads.begin(), problem.loads.end());
  form.bounds.insert(form.bounds.end(), problem.capacities.begin(), problem.capacities.end());
  const auto add = [&](long double cost) -> std::vector<long double>& {
    form.costs.push_back(cost);
    return form.columns.emplace_back(jobs + platforms);
  };
  for (const Pair& pair : problem.pairs) {
    auto& column = add(buys_capacity ? 0 : pair.cost);
    column[pair.job] = 1;
    column[jobs + pair.platform] = pair.cost;
  }
  for (size_t i = 0; i < platforms; ++i) {
    add(0)[jobs + i] = 1;
    if (buys_capacity) {
      add(1)[jobs + i] = -1;
    }
  }
  return form;
}

inline std::optional<double> min_cost_by_bases(const PlacementProblem& problem) {
  return min_of_all_bases(standard_form(problem, false));
}

inline double missing_capacity_by_bases(const PlacementProblem& problem) {
  return min_of_all_bases(standard_form(problem, true)).value_or(HUGE_VAL);
}

}  // namespace plimsoll::query
