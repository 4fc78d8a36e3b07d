#include "traces/assembly/clocks.h"

#include <algorithm>

namespace plimsoll::traces {
namespace {

// 73 years: from call to call shifts may add up. Times of spans are up to INT64_MAX / 2, so that what is shifted by this much, and the
// difference of two such times, fit into 64 bits.
constexpr int64_t kMaxShiftNs = INT64_MAX / 4;

}  // namespace

Clocks::Clocks(const SpanSet& spans) : machine_of_replica_(spans.names().replicas.size(), 0) {
  constexpr uint32_t kSeveral = UINT32_MAX;
  for (const Span& span : spans.spans()) {
    uint32_t& machine = machine_of_replica_[span.replica];
    if (span.replica != 0 && span.machine != 0) {
      machine = machine == 0 || machine == span.machine ? span.machine : kSeveral;
    }
  }
  std::ranges::replace(machine_of_replica_, kSeveral, 0U);
}

Clocks::Key Clocks::key_of(const Span& span) const {
  const uint32_t machine = machine_of(span);
  const uint32_t replica = machine != 0 ? 0 : span.replica;
  return {machine, replica, machine != 0 || replica != 0 ? 0 : span.service};
}

bool Clocks::are_one(const Span& left, const Span& right) const {
  const uint32_t left_machine = machine_of(left);
  const uint32_t right_machine = machine_of(right);
  if (left_machine != 0 && right_machine != 0) {
    return left_machine == right_machine;
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
