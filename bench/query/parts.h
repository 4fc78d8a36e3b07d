// What query_bench measures, one function a part.
#pragma once

#include <cstddef>

#include "bench/harness/program.h"

namespace plimsoll::bench {

// Of simulated fleets.
inline constexpr size_t kMachinesOfFleet = 1000;

// How often margins hold the truth and how wide they are, over 10,000 draws from simulated fleets, and from fleets made of the
// measurements below PLIMSOLL_CORPUS; beside the margins of who knows the population.
Status measure_margins(const Flags& flags, Report& report);
// Whether a tenth of the machines says the same as all of them.
Status measure_agreement(const Flags& flags, Report& report);
// How often `diff` takes chance for a change, and finds the change that there is.
Status measure_changes(const Flags& flags, Report& report);
// The time of views with their margins, over many rows.
Status measure_views(const Flags& flags, Report& report);
// The time of questions about the last hour while profiles come in, with little history and with much.
Status measure_live(const Flags& flags, Report& report);
// The time of a verdict on stability.
Status measure_stability(const Flags& flags, Report& report);
// How often intervals of percentiles hold the truth, over 1,000 simulated weeks of each kind.
Status measure_weeks(const Flags& flags, Report& report);
// How often services are taken for dependent that are independent, and that follow each other, over 1,000 simulated pairs of each kind.
Status measure_pooling(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
