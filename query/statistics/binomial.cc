#include "query/statistics/binomial.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::statistics {

double wilson_low(double share, double samples, double z) {
  if (samples <= 0) {
    return 0;
  }
  const double correction = z * z / samples;
  const double deviation = z * std::sqrt(share * (1 - share) / samples + correction / (4 * samples));
  return std::max(0.0, (share + correction / 2 - deviation) / (1 + correction));
}

}  // namespace plimsoll::statistics
