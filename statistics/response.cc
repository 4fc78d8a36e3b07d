#include "statistics/response.h"

#include <algorithm>
#include <utility>

namespace plimsoll::statistics {

double StratumResponse::weight_factor() const {
  return answered == 0 ? 0 : std::max(1.0, drawn_weight / answered_weight);
}

void hand_on_silent(std::span<StratumResponse> strata) {
  const auto has_answer = [](const StratumResponse& stratum) { return stratum.answered > 0; };
  auto last = std::ranges::find_if(strata, has_answer);
  if (last == strata.end()) {
    return;
  }
  for (auto stratum = strata.begin(); stratum != strata.end(); ++stratum) {
    if (has_answer(*stratum)) {
      last = stratum;
    } else {
      last->drawn += std::exchange(stratum->drawn, 0);
      last->drawn_weight += std::exchange(stratum->drawn_weight, 0);
    }
  }
}

}  // namespace plimsoll::statistics
