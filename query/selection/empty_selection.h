// Why a selection has no samples, and what to change.
#pragma once

#include <optional>
#include <string>

#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// In words, for people: when there are profiles, if not then; which filter matches nothing there is, and the nearest value that there
// is; else that nothing meets all of them at once. Costs a pass over the dictionary entries that each filter is about.
std::string why_empty(const Selection& selection, const Snapshot& snapshot);

// Of one filter; nothing where something there is meets it.
std::optional<std::string> why_no_match(const Predicate& predicate, const Snapshot& snapshot);

}  // namespace plimsoll::query
