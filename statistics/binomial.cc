#include "statistics/binomial.h"

#include <algorithm>
#include <cmath>

#include "statistics/incomplete_beta.h"

namespace plimsoll::statistics {

double wilson_low(double share, double samples, double z) {
  if (samples <= 0) {
    return 0;
  }
  // E. B. Wilson, JASA 22 (1927): the smallest p for which `share` is within z standard deviations, (share - p)^2 = z^2 p (1 - p) / n.
  const double correction = z * z / samples;
  const double deviation = z * std::sqrt(share * (1 - share) / samples + correction / (4 * samples));
  return std::max(0.0, (share + correction / 2 - deviation) / (1 + correction));
}

double binomial_upper_tail(double hits, double trials, double probability) {
  if (hits <= 0) {
    return 1;
  }
  // Abramowitz and Stegun, 26.5.24.
  return hits > trials ? 0 : incomplete_beta(probability, 1 - probability, hits, trials - hits + 1);
}

}  // namespace plimsoll::statistics
