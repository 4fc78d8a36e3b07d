// What a change is worth: test observations against the current fleet (WSMeter, Lee et al., ASPLOS 2018, sections 3 and 4).
//
// Job j's ratio is r_j = mean of the test / mean of the current fleet, the metric M = sum w_j r_j beside the current fleet's 1. Of a current fleet that
// is known as a whole (a census) only the test's sample adds to the variance. Where the current fleet is itself a sample, by linearization of r_j,
//   V_j = w_j^2 (s_test^2 / N_test + r_j^2 s_current^2 / N_current)    in units of the current mean (Cochran, Sampling Techniques, 6.4)
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/metric/estimate.h"

namespace plimsoll::query {

enum class Verdict : uint8_t { kBetter, kWorse, kCannotTell };

// "better", "worse", "cannot tell"
std::string_view name_of(Verdict verdict);

// Better or worse where the whole 95 % interval lies above or below the current fleet's 1.
Verdict verdict_of(const MetricEstimate& estimate);

struct EvaluationMethod {
  bool is_current_sample = false;
  bool is_finite_population =
      false;  // the job's instances are all that is asked about: as JobQuota says, else as many as the current fleet has
};

struct Evaluation {
  MetricEstimate metric;
  std::vector<MetricEstimate>
      jobs;  // ratios, in the order of the jobs compared; each with its own 95 % interval
};
Evaluation evaluate(std::span<const ComparedJob> jobs, const EvaluationMethod& method);

// How many instances of each job the test is to observe, in all, for that margin, judging by the deviations seen; at least 4.
Result<std::vector<int64_t>> observations_for(std::span<const ComparedJob> jobs,
                                              const EvaluationMethod& method, double margin);

}  // namespace plimsoll::query
