#include "traces/assembly/clocks.h"

#include <algorithm>

namespace plimsoll::traces {
namespace {

// 73 years: from call to call shifts may add up. Times of spans are up to INT64_MAX / 2, so that what is shifted by this much, and the
// difference of two such times, fit into 64 bits.
constexpr int64_t kMaxShiftNs = INT64_MAX / 4;

}  // namespace

bool have_one_clock(const Span& left, const Span& right) {
  if (left.machine != 0 && right.machine != 0) {
    return left.machine == right.machine;
  }
  if (left.replica != 0 && right.replica != 0) {
    return left.replica == right.replica;
  }
  return left.service == right.service;
}

int64_t clock_shift_ns(const Interval& parent, const Interval& children, int64_t expected_ns, bool is_alone) {
  const int64_t to_start_ns = parent.start_ns - children.start_ns;
  const int64_t to_end_ns = parent.end_ns - children.end_ns;
  const bool do_fit = to_start_ns <= to_end_ns;
  if (is_alone || !do_fit) {
    return std::clamp(to_start_ns + (to_end_ns - to_start_ns) / 2, -kMaxShiftNs, kMaxShiftNs);
  }
  return std::clamp(std::clamp(expected_ns, to_start_ns, to_end_ns), -kMaxShiftNs, kMaxShiftNs);
}

}  // namespace plimsoll::traces
