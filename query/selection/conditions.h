// What a selection asks of dictionary entries, for engines that have them as tables.
#pragma once

#include "query/selection/selection.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

bool is_about_draws(const Predicate& predicate);
// Draws by order speak for the same time as those of the policy, and are about some machines: they are to be asked for.
bool wants_orders(const Selection& selection);

// Leaves beside the IDs of a resolved filter what selected them (store::IdSelection), where all that was asked of a column's entries is the time
// and values. Regular expressions are ours alone; and no labels are an entry of their own, to which no condition applies.
void keep_conditions(const Selection& selection, store::RowFilter& filter);

}  // namespace plimsoll::query
