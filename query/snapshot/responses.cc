#include "query/snapshot/responses.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace plimsoll::query {
namespace {

using Stratum = std::pair<std::string_view, std::string_view>;  // of which draw, and its name

}  // namespace

std::vector<statistics::StratumResponse> responses(const OriginIndex& origins,
                                                   const store::Dictionaries& dictionaries,
                                                   std::span<const store::DrawnWeight> drawn) {
  std::vector<statistics::StratumResponse> answers;
  std::map<Stratum, uint32_t> numbers;
  std::vector<bool> is_counted(origins.sampling_units.size());
  for (uint32_t id = 1; id < dictionaries.origins.size(); ++id) {
    const uint32_t unit = origins.unit_of_origin[id];
    if (is_counted[unit]) {
      continue;
    }
    is_counted[unit] = true;
    const store::OriginEntry& origin = dictionaries.origins[id];
    const uint32_t stratum = origins.sampling_units[unit].stratum;
    numbers[{origin.draw, origin.stratum}] = stratum;
    answers.resize(std::max<size_t>(answers.size(), stratum + 1));
    answers[stratum].answered += 1;
    answers[stratum].answered_weight += 1 / origin.inclusion_probability;
  }
  for (statistics::StratumResponse& stratum : answers) {
    stratum.drawn = stratum.answered;
    stratum.drawn_weight = stratum.answered_weight;
  }
  while (!drawn.empty()) {
    const auto end = std::ranges::find_if(
        drawn, [&](const store::DrawnWeight& stratum) { return stratum.draw != drawn.front().draw; });
    const auto of_draw = drawn.first(static_cast<size_t>(end - drawn.begin()));
    drawn = drawn.subspan(of_draw.size());
    std::vector<statistics::StratumResponse> strata;
    for (const store::DrawnWeight& stratum : of_draw) {
      const auto number = numbers.find({stratum.draw, stratum.stratum});
      statistics::StratumResponse& response = strata.emplace_back(
          number == numbers.end() ? statistics::StratumResponse() : answers[number->second]);
      response.drawn = stratum.machines;
      response.drawn_weight = stratum.weight;
    }
    statistics::hand_on_silent(strata);
    for (size_t i = 0; i < of_draw.size(); ++i) {
      if (const auto number = numbers.find({of_draw[i].draw, of_draw[i].stratum}); number != numbers.end()) {
        answers[number->second] = strata[i];
      }
    }
  }
  return answers;
}

}  // namespace plimsoll::query
