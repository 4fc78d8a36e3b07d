// Do heavyweight jobs run fast and slow together where they share machines or racks? Margins take jobs to be independent.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "query/wsmeter/metric/comparison.h"

namespace plimsoll::query {

struct JobPair {
  std::string first;
  std::string second;
  size_t places = 0;       // machines or racks that both run on
  double correlation = 0;  // Pearson's, of their mean normalized performance in each
  double p = 1;            // that chance alone correlates them so (t test)
};

enum class Place : uint8_t { kMachine, kRack };

// The pairs among the first `heaviest` jobs that share 10 places or more and vary between these.
std::vector<JobPair> correlated_pairs(std::span<const ComparedJob> jobs, const InstancesByJob& instances,
                                      Place place, size_t heaviest = 10);

struct Independence {
  size_t significant = 0;  // pairs with p below 0.05 / pairs (Bonferroni)
  double widening = 0;  // of the metric's deviation, as a share of it, by the significant ones; at least -1
};

// How much wider margins have to be if every test instance shared its place with one of each other job, which is the worst case:
// sqrt(1 + 2 sum w_i w_j s_i s_j r_ij / sum (w_i s_i)^2) - 1
Independence judge_independence(std::span<const ComparedJob> jobs, std::span<const JobPair> pairs);

// "ignore", "widen margins by x %" or "add the covariance": up to 1 %, up to 10 %, above.
std::string recommendation(const Independence& independence);

}  // namespace plimsoll::query
