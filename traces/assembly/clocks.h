// Whose clocks spans were timed by, and how far those are shifted. Internal to traces/assembly.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "traces/model/span_set.h"

namespace plimsoll::traces {

// Which clocks there are, as far as names say. A replica of which some spans name a machine, and all the same one, runs on it.
class Clocks {
 public:
  explicit Clocks(const SpanSet& spans);

  // Equal for spans that are taken to be of one clock: of one machine, else replica, else service.
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  Key key_of(const Span& span) const;
  // By the finest name that both have. Not transitive: of three spans of a service two may name different machines.
  bool are_one(const Span& left, const Span& right) const;

 private:
  uint32_t machine_of(const Span& span) const {
    return span.machine != 0 ? span.machine : machine_of_replica_[span.replica];
  }

  std::vector<uint32_t> machine_of_replica_;  // 0: unknown, or several
};

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
