#include "query/snapshot/responses.h"

#include <algorithm>
#include <utility>

#include "proto/application_profiles.h"

namespace plimsoll::query {

bool is_of_drawn_applications(const store::OriginEntry& origin) {
  return !origin.draw.empty() && origin.series.starts_with(wire::kApplicationAssignment);
}

Status ResponseIndex::extend(const OriginIndex& origins, const store::Dictionaries& dictionaries,
                             const StrataOfDraw& strata_of) {
  is_counted_.resize(origins.sampling_units.size());
  std::set<Draw*> changed;
  for (; origins_seen_ < dictionaries.origins.size(); ++origins_seen_) {
    const uint32_t unit = origins.unit_of_origin[origins_seen_];
    const store::OriginEntry& origin = dictionaries.origins[origins_seen_];
    if (is_counted_[unit] || (asked_ == Asked::kMachine && is_of_drawn_applications(origin))) {
      continue;
    }
    is_counted_[unit] = true;
    const auto [draw, is_new] = draws_.try_emplace(origin.draw);
    if (is_new && !origin.draw.empty()) {
      auto drawn = strata_of(origin.draw);
      if (!drawn) {
        return propagate(drawn);
      }
      draw->second.drawn = std::move(*drawn);
    }
    const uint32_t stratum = origins.sampling_units[unit].stratum;
    draw->second.numbers.try_emplace(origin.stratum, stratum);
    count(stratum, origin);
    changed.insert(&draw->second);
  }
  answered_.resize(std::max(answered_.size(), origins.place_of_stratum.size()));
  by_stratum_.resize(answered_.size());
  for (const Draw* draw : changed) {
    weigh(*draw);
  }
  return {};
}

void ResponseIndex::count(uint32_t stratum, const store::OriginEntry& first_of_unit) {
  answered_.resize(std::max<size_t>(answered_.size(), stratum + 1));
  statistics::StratumResponse& response = answered_[stratum];
  response.answered += 1;
  response.answered_weight += 1 / first_of_unit.inclusion_probability;
  response.drawn = response.answered;
  response.drawn_weight = response.answered_weight;
}

void ResponseIndex::weigh(const Draw& draw) {
  for (const auto& [name, number] : draw.numbers) {
    by_stratum_[number] = answered_[number];
  }
  std::vector<statistics::StratumResponse> strata;
  for (const store::DrawnWeight& stratum : draw.drawn) {
    const auto number = draw.numbers.find(stratum.stratum);
    statistics::StratumResponse& response = strata.emplace_back(
        number == draw.numbers.end() ? statistics::StratumResponse() : answered_[number->second]);
    response.drawn = stratum.machines;
    response.drawn_weight = stratum.weight;
  }
  statistics::hand_on_silent(strata);
  for (size_t i = 0; i < strata.size(); ++i) {
    if (const auto number = draw.numbers.find(draw.drawn[i].stratum); number != draw.numbers.end()) {
      by_stratum_[number->second] = strata[i];
    }
  }
}

}  // namespace plimsoll::query
