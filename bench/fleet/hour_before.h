// Profiles of the hour before a measurement.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bench/fleet/profile_maker.h"
#include "bench/fleet/split_roles.h"

namespace plimsoll::bench {

// Uploads so many profiles, of windows that have just ended and each of a machine of its own, of which the server has none yet. Returns once
// the server's answers count all of them.
Status fill_hour_before(uint32_t profiles, const FleetServers& servers, ProfileMaker& maker);

}  // namespace plimsoll::bench
