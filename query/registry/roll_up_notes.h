// What answers say about rows that are rolled up.
#pragma once

#include <string>
#include <vector>

#include "query/registry/view.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "store/model/time_spans.h"

namespace plimsoll::query {

// Where what is asked for needs more than such rows have: threads, instances, times within an hour. None where no block of these times is
// rolled up.
std::vector<std::string> roll_up_notes(const Parameters& parameters, const store::TimeSpans& times,
                                       const Snapshot& snapshot);

// The answer with them, if it has notes.
Answer with_roll_up_noted(Answer answer, const std::vector<std::string>& notes);

}  // namespace plimsoll::query
