// What an experiment that is asked about (asked_experiment.h) comes to: its plan, what margins cost, how far it is, and its result, which
// is there only when it can no longer be stopped early.
//
// Where no daemon reports a quota, a job's weight is what the control arm did of it; a note says so.
#pragma once

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "query/wsmeter/asked/asked_experiment.h"

namespace plimsoll::query {

// experiment_plan() of a question that parse_experiment_plan() has read.
Result<Table> asked_experiment_plan(const AskedExperiment& asked, const Snapshot& snapshot,
                                    const LiveFleet& fleet);
// experiment_curve() of the same.
Result<Table> asked_experiment_curve(const AskedExperiment& asked, const Snapshot& snapshot,
                                     const LiveFleet& fleet);
// experiment_progress() of a question that parse_experiment() has read.
Result<Table> asked_experiment_progress(const AskedExperiment& asked, const Snapshot& snapshot,
                                        const LiveFleet& fleet);

// The first row, job "(all)", is the metric, the others are the jobs, the largest weights first, then those left out:
//   job, weight, change with change_margin, change_low, change_high, verdict (better, worse, cannot tell, left out), control, test (instances
//   observed), reason (why it is left out)
// Notes: the verdict, what it stands on, then warnings. kConflict as long as the experiment runs: neither has its time ended, nor are
// all instances there that are wanted. Observes each arm twice.
Result<Table> asked_experiment_result(const AskedExperiment& asked, const Snapshot& snapshot,
                                      const LiveFleet& fleet);

}  // namespace plimsoll::query
