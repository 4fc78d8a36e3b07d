// Two selections that are set side by side, as parameters say them: what both have in common, and what each has of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "store/model/time_spans.h"

namespace plimsoll::query {

struct Sides {
  Selection base;
  Selection other;
};

// The filters of a selection are of both sides; base_where, base_since, base_until and new_where, new_since, new_until of one: a filter beside
// the common ones, a time in place of the common one. earlier, a duration: the base is the other side so much earlier. Then a view's own, the event among them.
// kInvalid where the two sides are the same, or one has no time.
Result<Sides> read_sides(const Parameters& parameters, int64_t now_ns, const std::vector<Parameter>& own);

// The times that a question with these parameters is about: since and until, or those of each side as read_sides() has them. All times
// where none is given; a text that is no time, which whoever reads the parameters refuses, counts as not given.
store::TimeSpans times_of(const Parameters& parameters, int64_t now_ns);

}  // namespace plimsoll::query
