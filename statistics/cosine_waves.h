// Cosines over the time of an observation, which is measured by what was observed of it: by these the variance of a mean is
// estimated where its parts are correlated (equal-weighted cosines: Lazarus, Lewis, Stock and Watson, J. Business & Economic
// Statistics 36 (2018)).
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::statistics {

// Wave 0, 1, ... of 1/2, 1, ... periods at the point of the time before which `share` of the mass lies. Its mean square is 1.
double cosine_wave(size_t wave, double share);

// A part of the observation; its share of the mass.
struct TimedMass {
  int64_t time_ns = 0;
  double mass = 0;
};

// The expected mean square of the first `waves` cosines, over the variance of the mean, of a process whose correlation is
// exp(-t / correlation_ns): under 1, since a wave whose period is not much longer than that sees less of the process than the mean does,
// and one whose period is that of the masses (days) trades it for what is faster. `masses` by time; 1 where the variance is 0.
double share_seen_by_waves(std::span<const TimedMass> masses, size_t waves, double correlation_ns);

}  // namespace plimsoll::statistics
