// How many instances of each job to observe, so that the quota-weighted mean of their performance is known well enough for the least cost
// (WSMeter, Lee et al., ASPLOS 2018, section 4.3).
//
// Of job i, with weight w_i and the deviation s_i between its instances relative to its mean, N_i instances are observed. The variance of the
// metric is sum (w_i s_i)^2 / N_i; where the instances themselves are all that is asked about, less by sum (w_i s_i)^2 / n_i (the finite
// population's correction).
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace plimsoll::query {

struct PlannedJob {
  double weight = 0;      // of the metric
  double deviation = 0;   // between instances, as a share of the job's mean
  int64_t instances = 0;  // that there are, at least 1
  double cost = 0;        // of observing one of them, above 0
};

enum class Rounding : uint8_t {
  kMinCost,  // the best whole numbers
  kUp,       // the paper's: what would be best if instances could be parted, rounded up
};

struct PlanGoal {
  double deviation = 0;       // that the metric may have: its margin divided by z
  int64_t min_instances = 4;  // of each job; all of one that has fewer
  bool is_finite_population = false;
  Rounding rounding = Rounding::kMinCost;
};

struct ObservationPlan {
  std::vector<int64_t> observe;  // by job, in their order
  double cost = 0;
  double deviation = 0;     // that the metric has then
  double min_cost = 0;      // no plan costs less, if instances could be parted
  bool is_optimal = false;  // no plan of whole numbers costs less
};

// kInvalid, with the number of the job, for numbers that make no sense; kNotFound where observing all instances does not suffice, with the deviation
// that remains (deviation_of_all()). Takes some 5 ms for 5,000 jobs and under a second for a million (bench/wsmeter), also where many are equal; optimal plans, where
// costs differ, are looked for as long as that takes some milliseconds.
Result<ObservationPlan> plan_observations(std::span<const PlannedJob> jobs, const PlanGoal& goal);

// The deviation of the metric where all instances are observed and count as a sample of more: the minimum that a plan can reach.
double deviation_of_all(std::span<const PlannedJob> jobs);

}  // namespace plimsoll::query
