// The tables of `plimsoll sql` that are made of the catalogue and heartbeats: no stored row is read for them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/snapshot/snapshot.h"
#include "sqlite/question/list_table.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// `totals`: a row for each event of each profile, with what the profile says of it as a whole. Its sums are those of samples.
// Borrows both; `factors`: the measures of resolve_all().
sqlite::ListTable totals_table(const Snapshot& snapshot, const std::vector<store::Factors>& factors);

// `events`: a row for each event that there are profiles of. Costs a look at all totals, when it is first read.
sqlite::ListTable events_table(const Snapshot& snapshot, const std::vector<store::Factors>& factors);

// Where the newest heartbeats come from: asked when a statement reads the table for the first time.
using FleetSource = std::function<Result<LiveFleet>()>;

// `machines`: the rows and columns of the view of that name.
sqlite::ListTable machines_table(const Snapshot& snapshot, int64_t now_ns, const FleetSource& fleet);

}  // namespace plimsoll::query
