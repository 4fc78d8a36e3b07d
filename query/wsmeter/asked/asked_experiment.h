// An experiment (query/wsmeter/experiment) of which a server is asked: its arms are filters on what it has stored, its weights the quotas that
// daemons report. Nothing of it is kept: a question says all that defines it, as the file of `plimsoll experiment` does.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/wsmeter/experiment/experiment.h"
#include "store/model/time_spans.h"

namespace plimsoll::query {

struct AskedExperiment {
  // Of no event: the filters and times of both arms, and those of its own.
  Selection control;
  Selection test;
  std::string ratio = "instructions/cycles";  // as parse_ratio() gives it
  ExperimentGoal goal;
  int64_t now_ns = 0;  // wall clock

  // Whether its time is over, so that no look at it can end it early.
  bool has_ended() const { return control.until_ns <= now_ns; }
  store::TimeSpans times() const;
};

// Parameters: those of a selection but for event; control, test (filters of one arm, which may be repeated), ratio, margin, detect, power,
// min_instances. kInvalid where an arm has no filter, or both have the same, where more of
// the ratio is worse, and where `until` is relative to now.
Result<AskedExperiment> parse_experiment(const Parameters& parameters, int64_t now_ns);

// The same without a test, planned by what the control did in `history` (7 days) before since, or before now where there is no since.
Result<AskedExperiment> parse_experiment_plan(const Parameters& parameters, int64_t now_ns);

}  // namespace plimsoll::query
