// Making a draw: from the machines that may be drawn to those that are, and when each of them measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduler/draws/draw_plan.h"
#include "scheduler/draws/population.h"
#include "scheduler/safety/collection_breaker.h"
#include "scheduler/safety/limited_groups.h"
#include "store/draws/draw.h"

namespace plimsoll::scheduler {

struct MadeDraw {
  store::DrawWithMachines kept;        // no machine is profiled before set_windows()
  std::vector<uint32_t> numbers = {};  // of its machines, in their order, in the population

  // Withheld machines; the draw has the reasons.
  void withhold(size_t place, std::string why) { kept.machines[place].detail = std::move(why); }
};

// `draw` is what is known of it beforehand; strata and machines are added. `candidates` are the population, by number.
MadeDraw make_draw(store::Draw draw, std::span<const Candidate> candidates, const Population& population,
                   const DrawPlan& plan, uint32_t turn);

// The places of the draw's machines that are not stopped; the others are withheld.
std::vector<size_t> not_stopped(const CollectionBreaker& breaker, MadeDraw& draw);

// Of the machines in these places, each measures from the first of `starts_ns` at which there is room for all that it runs; of whom there is room for
// at none of them is withheld. `fleet` is all that shares are of, `numbers` says where in it the draw's machines are. Also sets when the draw is due.
void set_windows(std::span<const size_t> places, std::span<const int64_t> starts_ns, uint64_t seed,
                 std::span<const Candidate> fleet, std::span<const uint32_t> numbers,
                 const SafetyLimits& limits, int64_t late_after_ns, store::DrawWithMachines& draw);

}  // namespace plimsoll::scheduler
