// From the fleet to a draw, by a method that can be kept: making a draw and making it again are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "proto/draws.pb.h"
#include "scheduler/assignments/draw_policy.h"
#include "scheduler/assignments/known_fleet.h"
#include "scheduler/assignments/made_draw.h"
#include "scheduler/assignments/order.h"
#include "store/draws/draw.h"
#include "store/live/past_fleet.h"

namespace plimsoll::scheduler {

// All that a draw of the policy, or one for the order, follows from beside its seed and the fleet.
wire::DrawMethod method_of(const DrawPolicy& policy, const ScheduledDraw& draw);
wire::DrawMethod method_of(const MeasuringOrder& order);

// Who can be drawn at all. Borrows the fleet.
struct Eligible {
  std::vector<Candidate> all;  // that are there and can count the events: the population of the safety limits
  std::vector<uint32_t> meant;  // of these, by number, who is drawn from
};
Eligible eligible(const wire::DrawMethod& method, const wire::Assignment& collects, const KnownFleet& fleet);

// Draws from the eligible machines, by draw.method, draw.seed and nothing else: adds strata and machines to the draw.
// kInvalid without a method, and for one that is none.
Result<MadeDraw> draw_from(const Eligible& eligible, store::Draw draw);

// Makes the draw again from the fleet of then. kConflict, in words, where other machines come out, or other
// probabilities; kNotFound where what it takes is not kept any more, or never was. Costs what a draw does.
Status draw_again(const store::DrawWithMachines& kept, const store::FleetAt& fleet_at);

}  // namespace plimsoll::scheduler
