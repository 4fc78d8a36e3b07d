// The loop of an experiment: how many to observe, how far that is, and what came out. Test and control are observed over the same time, and both are
// samples (evaluation.h).
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/evaluation/evaluation.h"
#include "query/wsmeter/experiment/arm.h"
#include "query/wsmeter/experiment/load_mix.h"

namespace plimsoll::query {

struct ExperimentGoal {
  double margin = 0.01;       // of the metric
  double detect = 0;          // in its place, a change that is to be found; 0: none
  double power = 0.95;        // with which
  int64_t min_instances = 4;  // instances of each job
};

// A row for each job of the control, the largest weights first: job, weight, control (instances observed), observe (instances of the test), cost (their quota),
// top_coverage (what this job and those above it have of all quota).
// By the control's own deviations, and with what the control's being a sample leaves unknown. Notes say what it comes to. kNotFound where no number would do,
// with the reason.
Result<Table> experiment_plan(const Arm& control, std::span<const JobQuota> quotas,
                              const ExperimentGoal& goal);

// What other goals cost, from eight times the goal's margin (or the change to detect) to an eighth of it, each a tenth narrower than that before, as
// long as any number would do: aim (that margin or change), margin (of the interval then), instances, cost; one row of those that take as many
// instances, so that the plan itself is among them by its number of instances. Errors as experiment_plan() has them.
Result<Table> experiment_curve(const Arm& control, std::span<const JobQuota> quotas,
                               const ExperimentGoal& goal);

struct Progress {
  Table table;               // job, weight, control, test, wanted
  double share = 0;          // of the instances that are wanted
  bool is_complete = false;  // all are there
};

// How far it is, and not how it comes out: who stops when it looks good finds changes that are not there.
Result<Progress> experiment_progress(const Arm& control, const Arm& test, std::span<const JobQuota> quotas,
                                     const ExperimentGoal& goal);

struct Findings {
  Comparison comparison;
  Evaluation evaluation;
  LoadMix mix;
  Result<Progress> progress;          // an error: no number of observations would do
  std::vector<std::string> warnings;  // what a decision should know
};

// kNotFound where no job has two observations on both sides.
Result<Findings> experiment_findings(const Arm& control, const Arm& test, std::span<const JobQuota> quotas,
                                     const ExperimentGoal& goal);

}  // namespace plimsoll::query
