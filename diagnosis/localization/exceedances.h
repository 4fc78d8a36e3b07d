// Which replicas run a method, or are reached, slower than the other replicas of their service; within the window alone.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/localization/sides.h"
#include "diagnosis/observations/observations.h"

namespace plimsoll::diagnosis {

struct ExceedanceOptions {
  double deviations = 3.5;        // of the method's own scatter, from which on a call exceeds
  double false_discovery = 0.01;  // share of the pairs that may be false on average
};

struct SlowReplica {
  uint32_t feature = 0;  // index into Observations::features
  uint32_t replica = 0;
  bool is_callee = false;  // of a gap: the replica that is called is the slow one
  size_t calls = 0;        // a request's calls on the replica are one, their mean
  size_t exceeding = 0;
  double usual_share = 0;  // of calls of the other replicas that exceed
  double auc = 0.5;        // how often one of its calls takes longer than one of the others
  double p = 1;
  double excess_ms = 0;  // median of its exceeding calls less the method's median
};

// For each feature with several replicas: the logarithm of a call's time, less the feature's median, and less the median of its request
// (which is slow as a whole, or not). The calls of one request on one replica are one observation, their mean: they are not independent. Two
// tests of a replica's calls against those of the others, of which the smaller p counts, twice: how many of all that exceed so many robust
// deviations are its own (binomial, with its share of all calls; Przyborowski and Wilenski, Biometrika 31, 1940), which finds a replica that
// is slow now and then; and Mann and Whitney's, which finds one that is slower by little. Pairs are judged by Benjamini and Hochberg. The
// smallest p first.
std::vector<SlowReplica> slow_replicas(const Observations& observations, const Sides& sides,
                                       const ExceedanceOptions& options = {});

}  // namespace plimsoll::diagnosis
