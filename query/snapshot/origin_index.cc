#include "query/snapshot/origin_index.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plimsoll::query {
namespace {

uint64_t pair_of(uint32_t a, uint32_t b) {
  return uint64_t{a} << 32U | b;
}

}  // namespace

void OriginIndexer::extend(const store::Dictionaries& dictionaries) {
  for (size_t entry = machine_of_entry_.size(); entry < dictionaries.machines.size(); ++entry) {
    machine_of_entry_.push_back(machine_numbers_.of(dictionaries.machines[entry].machine_id));
  }
  for (size_t origin = index_.unit_of_origin.size(); origin < dictionaries.origins.size(); ++origin) {
    add(dictionaries.origins[origin]);
  }
  // Events are in the order of their origins.
  const auto& events = dictionaries.origin_events;
  for (size_t event = index_.first_event.back(); index_.first_event.size() <= dictionaries.origins.size();) {
    const auto origin = static_cast<uint32_t>(index_.first_event.size() - 1);
    while (event < events.size() && events[event].origin == origin) {
      ++event;
    }
    index_.first_event.push_back(static_cast<uint32_t>(event));
  }
  index_.machines = machine_numbers_.size();
  index_.series = series_numbers_.size();
  index_.observed_things = thing_numbers_.size();
  if (must_order_) {
    order_strata();
  }
}

void OriginIndexer::add(const store::OriginEntry& origin) {
  const uint32_t machine = machine_of_entry_[origin.machine];
  const uint32_t draw = draw_numbers_.of(origin.draw);
  if (draw == draws_.size()) {
    draws_.push_back({origin.draw, origin.from_ns});
  } else if (origin.from_ns < draws_[draw].start_ns) {
    draws_[draw].start_ns = origin.from_ns;
    must_order_ = true;
  }
  const uint32_t unit = unit_numbers_.of(pair_of(machine, draw));
  if (unit == index_.sampling_units.size()) {
    const uint32_t part = part_numbers_.of(origin.stratum);
    const uint32_t stratum = stratum_numbers_.of(pair_of(draw, part));
    if (stratum == strata_.size()) {
      strata_.push_back({draw, origin.stratum});
      must_order_ = true;
    }
    index_.sampling_units.push_back({.machine = machine, .stratum = stratum, .part = part});
  }
  index_.unit_of_origin.push_back(unit);
  index_.middle_ns.push_back(std::midpoint(origin.from_ns, origin.to_ns));
  const uint32_t series = series_numbers_.of(pair_of(machine, names_of_series_.of(origin.series)));
  index_.series_of_origin.push_back(series);
  index_.thing_of_origin.push_back(thing_numbers_.of(pair_of(unit, series)));
}

void OriginIndexer::order_strata() {
  std::vector<uint32_t> order(strata_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [this](uint32_t number) {
    const Stratum& stratum = strata_[number];
    const Draw& draw = draws_[stratum.draw];
    return std::tie(stratum.name, draw.start_ns, draw.id);
  });
  index_.place_of_stratum.resize(order.size());
  for (uint32_t place = 0; place < order.size(); ++place) {
    index_.place_of_stratum[order[place]] = place;
  }
  must_order_ = false;
}

}  // namespace plimsoll::query
