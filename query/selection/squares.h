// What margins within one machine are made of: squares of what each sample stands for.
#pragma once

#include <cstddef>

#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// For margins, in place of the samples.
inline constexpr size_t kSquares =
    1;  // of what each sample stands for, in the event's unit: the variance of their sum, if they come at random
store::AggregateRequest with_squares(store::AggregateRequest request, const Snapshot& snapshot);

}  // namespace plimsoll::query
