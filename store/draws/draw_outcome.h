// What became of a drawn machine: an answer, or why there is none.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/draws/draw.h"

namespace plimsoll::store {

enum class DrawOutcome : uint8_t {
  kAnswered,
  kPartial,    // with less than 95 % of the window
  kLate,       // when it was due already
  kPending,    // it is not due yet
  kWithheld,   // it was not to measure: too many of its kind would have at once
  kUnreached,  // offline from the draw to the end of its window
  kRefused,    // by the machine's own limits
  kFailed,     // the machine says why
  kVanished,   // it received the assignment, and was offline after the end of the window
  kLost,       // it is there, and no profile came
};
inline constexpr size_t kDrawOutcomes = 10;

DrawOutcome outcome_of(const Draw& draw, const DrawnMachine& machine, int64_t now_ns);

// "answered", "vanished", ...
std::string_view name_of(DrawOutcome outcome);
// Whether a profile came, of whatever length and whenever.
bool has_answer(DrawOutcome outcome);

}  // namespace plimsoll::store
