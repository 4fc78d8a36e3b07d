// Whose clocks spans were timed by, and how far those are shifted. Internal to traces/assembly.
#pragma once

#include <cstdint>
#include <span>

#include "traces/model/span.h"

namespace plimsoll::traces {

// Whether both times were read from one clock, as far as the names say: of one machine, else replica, else service.
bool have_one_clock(const Span& left, const Span& right);

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// By how much the times of children of one other clock are moved. `parent` by the clock of the root, `children` from the first start to
// the last end by their own; `expected_ns` is the parent's own shift. `is_alone`: the parent has no children but these.
//
// A client span that waits for one server is taken to lie evenly around it: middle on middle, which no constant offset changes. Beside
// other children the shift is `expected_ns` where they then lie within the parent, else the nearest shift with which they do.
// At most 73 years either way.
int64_t clock_shift_ns(const Interval& parent, const Interval& children, int64_t expected_ns, bool is_alone);

}  // namespace plimsoll::traces
