// Why machines that were drawn sent no profile: the commonest cause, for a note.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/draws/draw.h"
#include "store/fleet.h"

namespace plimsoll::query {

// A part of a draw, by names.
struct DrawnPart {
  std::string_view draw;
  std::string_view stratum;

  auto operator<=>(const DrawnPart&) const = default;
};

struct CommonestCause {
  std::string text =
      {};  // "were withheld: over the overhead budget (draw.max_overhead_percent)"; empty: none is known
  size_t machines = 0;    // that it kept from answering
  size_t unanswered = 0;  // machines whose outcome is known, and that did not answer
};

// Of the machines of draws in these parts, and in strata of these draws in which no machine answered: others stand for those. Pure.
CommonestCause commonest_cause(std::span<const store::DrawWithMachines> draws,
                               const std::set<DrawnPart>& parts, int64_t now_ns);

// Of the newest of the draws, so many that reading them takes a fraction of a second; where the fleet knows
// of none there is no cause. Their machines are forgotten after retention: then no cause is known.
Result<CommonestCause> read_commonest_cause(const store::Fleet& fleet, const std::set<DrawnPart>& parts,
                                            int64_t now_ns);

// "3 of 8 drawn machines sent no profile: most (2) were withheld: ...; other machines of their strata are weighted up for them".
std::string unanswered_text(size_t unanswered, size_t drawn, const CommonestCause& cause);

}  // namespace plimsoll::query
