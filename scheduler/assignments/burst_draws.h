// Bursts that drawn machines record beside their profiles: what may be asked for, until when a draw waits for them, and what came of
// them. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "proto/fleet.pb.h"
#include "proto/profile.pb.h"
#include "store/draws/draw.h"

namespace plimsoll::scheduler {

// The longest that one assignment may ask for: a restarted server looks this far back for draws whose machines still record.
inline constexpr int64_t kMaxBurstsNs = int64_t{6} * 3600 * 1'000'000'000;

// kInvalid, with the field (bursts.config, bursts.duration, bursts.events, bursts.max_overhead_percent), where it makes no sense. Of a
// duration in which no burst may come, too.
Status check_bursts(const wire::BurstRequest& bursts, int64_t max_duration_ns);

// "bursts 7,8 for 5m with system-calls"
std::string text_of(const wire::BurstRequest& bursts);

// Until then machines of the draw are told of their assignment: profiles are due, and what came of bursts.
int64_t open_until_ns(const store::DrawWithMachines& draw);

// What a report says, in words, and once it is over what came of the bursts that were asked for.
std::string detail_of(const wire::AssignmentReport& report, const wire::Assignment& collects);

}  // namespace plimsoll::scheduler
