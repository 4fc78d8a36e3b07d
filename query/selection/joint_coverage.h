// What the answer to a comparison of two selections stands on.
#pragma once

#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

// Of both together, but for the share without symbols; what is in both counts twice, but for machines.
Coverage joint_coverage(const ResolvedSelection& base, const ResolvedSelection& other,
                        const Snapshot& snapshot);

}  // namespace plimsoll::query
