// The tables of `status --by`: background work, answers by view, and what profiling costs against its budgets.
#pragma once

#include <string>
#include <vector>

#include "query/operations/status.h"
#include "query/table/table.h"

namespace plimsoll::query {

// Work: work, state (ok, warning, failed), newest_success, running_since, failing_since, errors, last_error_at, last_error, detail (what to
// do). Without a server: no rows, and a note.
Table background_work(const StatusRequest& request, const StatusFacts& facts);

// Question: view, answers, mean, p95_max, over_1s, over_10s; the view with most slow answers first.
Table answered_views(const StatusFacts& facts);

// A limit on what daemons take, both as shares of the live machines' CPU time.
struct OverheadBudgetUse {
  std::string name;
  double spent = 0;
  double limit = 0;  // above 0
  std::string what_to_do = {};

  bool is_over() const { return spent > limit; }
};

// Those that are known: without a server, or before a machine has reported, none.
std::vector<OverheadBudgetUse> overhead_budgets(const StatusRequest& request, const StatusFacts& facts);

// Overhead: budget, state (ok, warning), spent, limit, used_share, detail (what to do).
Table overhead(const StatusRequest& request, const StatusFacts& facts);

// Symbolizer workers that asked lately: worker, leases, tables, failed, refused, expired, newest_request, newest_failure.
Table symbolizers(const StatusFacts& facts);

}  // namespace plimsoll::query
