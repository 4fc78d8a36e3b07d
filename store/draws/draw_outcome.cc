#include "store/draws/draw_outcome.h"

#include <array>

namespace plimsoll::store {
namespace {

constexpr std::array<std::string_view, kDrawOutcomes> kNames{"answered", "partial",   "late",    "pending",
                                                             "withheld", "unreached", "refused", "failed",
                                                             "vanished", "lost"};

DrawOutcome outcome_of_answer(const Draw& draw, const DrawnMachine& machine) {
  if (machine.answered_ns > draw.due_ns) {
    return DrawOutcome::kLate;
  }
  return machine.observed_ns < draw.window_ns / 100 * 95 ? DrawOutcome::kPartial : DrawOutcome::kAnswered;
}

}  // namespace

DrawOutcome outcome_of(const Draw& draw, const DrawnMachine& machine, int64_t now_ns) {
  const int64_t window_end_ns = machine.window_start_ns + draw.window_ns;
  if (machine.answered_ns > 0) {
    return outcome_of_answer(draw, machine);
  }
  if (machine.window_start_ns == 0) {
    return DrawOutcome::kWithheld;
  }
  if (machine.state == wire::REFUSED) {
    return DrawOutcome::kRefused;
  }
  if (machine.state == wire::FAILED) {
    return DrawOutcome::kFailed;
  }
  if (now_ns < draw.due_ns) {
    return DrawOutcome::kPending;
  }
  if (machine.told_ns == 0) {
    return DrawOutcome::kUnreached;
  }
  const bool was_heard_of = machine.state == wire::DONE || machine.reported_ns >= window_end_ns;
  return was_heard_of ? DrawOutcome::kLost : DrawOutcome::kVanished;
}

std::string_view name_of(DrawOutcome outcome) {
  return kNames[static_cast<size_t>(outcome)];
}

bool has_answer(DrawOutcome outcome) {
  return outcome <= DrawOutcome::kLate;
}

}  // namespace plimsoll::store
