#include "query/statistics/response.h"

#include <algorithm>

namespace plimsoll::statistics {
namespace {

// Machines that there are, as estimated from those drawn.
struct Weights {
  double drawn = 0;
  double answered = 0;
};

std::vector<Weights> weigh(std::span<const DrawnMachine> machines) {
  std::vector<Weights> strata;
  for (const DrawnMachine& machine : machines) {
    strata.resize(std::max<size_t>(strata.size(), machine.stratum + 1));
    const double weight = 1 / machine.inclusion_probability;
    strata[machine.stratum].drawn += weight;
    strata[machine.stratum].answered += machine.missing_by ? 0 : weight;
  }
  return strata;
}

// Gives what nobody answered for to the stratum before, or the first with an answer.
void hand_on(std::vector<Weights>& strata) {
  const auto first =
      std::ranges::find_if(strata, [](const Weights& stratum) { return stratum.answered > 0; });
  if (first == strata.end()) {
    return;
  }
  auto last = first;
  for (auto stratum = strata.begin(); stratum != strata.end(); ++stratum) {
    if (stratum->answered > 0) {
      last = stratum;
    } else {
      last->drawn += stratum->drawn;
    }
  }
}

}  // namespace

Response account_for_response(std::span<const DrawnMachine> machines) {
  Response response;
  response.drawn = machines.size();
  for (const DrawnMachine& machine : machines) {
    if (!machine.missing_by) {
      ++response.answered;
      continue;
    }
    response.missing.resize(std::max<size_t>(response.missing.size(), *machine.missing_by + 1));
    ++response.missing[*machine.missing_by];
  }
  std::vector<Weights> strata = weigh(machines);
  hand_on(strata);
  for (const Weights& stratum : strata) {
    response.weight_factors.push_back(stratum.answered > 0 ? stratum.drawn / stratum.answered : 0);
    response.silent_strata += stratum.drawn > 0 && stratum.answered == 0 ? 1 : 0;
  }
  return response;
}

}  // namespace plimsoll::statistics
