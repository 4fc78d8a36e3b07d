// What plans of observations are judged by.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::query {

// So many instances that observing some leaves as many.
inline constexpr int64_t kMany = 1'000'000;

// Of the metric, where so many instances of each job are observed, of as many as there are.
inline double variance(const std::vector<PlannedJob>& jobs, const std::vector<int64_t>& counts) {
  double sum = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    sum += std::pow(jobs[i].weight * jobs[i].deviation, 2) / static_cast<double>(counts[i]);
  }
  return sum;
}

}  // namespace plimsoll::query
