// Fleets of a thousand machines that run jobs of very different sizes, each fleet with one thing that makes margins hard.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/fleets/fleet.h"

namespace plimsoll::fleets {

// Machines that run anything, drawn at random.
Fleet plain_fleet(double fraction, size_t machines, Random& random);
// Instances of jobs differ in size by more than a factor of ten.
Fleet skewed_fleet(double fraction, size_t machines, Random& random);
// Racks of twenty machines run two jobs of their own, most of the time.
Fleet clustered_fleet(double fraction, size_t machines, Random& random);
// Four strata, of which the last has two machines of a hundred, of which at least two are drawn, and a job of its own.
Fleet rare_stratum_fleet(double fraction, size_t machines, Random& random);
// Three strata, of whose machines 95, 80 and 60 of a hundred answer, and which run different jobs.
Fleet silent_fleet(double fraction, size_t machines, Random& random);
// Machines with the small job are drawn three times as often, and each independently of the others.
Fleet unequal_fleet(double fraction, size_t machines, Random& random);
// Four draws from the same machines, whose load goes up and down.
Fleet repeated_fleet(double fraction, size_t machines, Random& random);
// Daemons whose governors took 2 to 64 times as few samples in some part of the time.
Fleet throttled_fleet(double fraction, size_t machines, Random& random);

// Machines that send six profiles each, at random periods: as they are, and rolled up.
Fleet profiles_fleet(double fraction, size_t machines, bool is_rolled_up, Random& random);

// One of each but the last.
std::vector<Fleet> all_fleets(double fraction, size_t machines, Random& random);

}  // namespace plimsoll::fleets
