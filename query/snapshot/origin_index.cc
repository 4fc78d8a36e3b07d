#include "query/snapshot/origin_index.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace plimsoll::query {
namespace {

// Numbers, dense from 0, in the order in which keys come.
template <typename Key>
class Numbers {
 public:
  uint32_t of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  boost::unordered_flat_map<Key, uint32_t> numbers_;
};

uint64_t pair_of(uint32_t a, uint32_t b) {
  return uint64_t{a} << 32U | b;
}

std::vector<uint32_t> number_machines(const store::Dictionaries& dictionaries, size_t& machines) {
  Numbers<std::string_view> numbers;
  std::vector<uint32_t> number_of_entry;
  for (const store::MachineEntry& machine : dictionaries.machines) {
    number_of_entry.push_back(numbers.of(machine.machine_id));
  }
  machines = numbers.size();
  return number_of_entry;
}

}  // namespace

OriginIndex::OriginIndex(const store::Dictionaries& dictionaries) {
  const std::vector<uint32_t> machine_of_entry = number_machines(dictionaries, machines);
  Numbers<std::string_view> draws;
  Numbers<std::string_view> names_of_series;
  Numbers<std::string_view> parts;
  Numbers<uint64_t> series_numbers;
  Numbers<uint64_t> unit_numbers;
  std::vector<int64_t> start_of_draw_ns;
  struct UnitDraw {
    uint32_t draw;
    std::string_view draw_name;
    std::string_view stratum;
  };
  std::vector<UnitDraw> draw_of_unit;
  for (const store::OriginEntry& origin : dictionaries.origins) {
    const uint32_t machine = machine_of_entry[origin.machine];
    const uint32_t draw = draws.of(origin.draw);
    if (draw == start_of_draw_ns.size()) {
      start_of_draw_ns.push_back(origin.from_ns);
    }
    start_of_draw_ns[draw] = std::min(start_of_draw_ns[draw], origin.from_ns);
    const uint32_t unit = unit_numbers.of(pair_of(machine, draw));
    if (unit == sampling_units.size()) {
      sampling_units.push_back({.machine = machine, .part = parts.of(origin.stratum)});
      draw_of_unit.push_back({draw, origin.draw, origin.stratum});
    }
    unit_of_origin.push_back(unit);
    series_of_origin.push_back(series_numbers.of(pair_of(machine, names_of_series.of(origin.series))));
  }
  series = series_numbers.size();

  using StratumKey = std::tuple<std::string_view, int64_t, std::string_view>;
  std::map<StratumKey, uint32_t> strata;
  std::vector<uint32_t*> stratum_of_unit;
  for (const UnitDraw& unit : draw_of_unit) {
    stratum_of_unit.push_back(&strata[{unit.stratum, start_of_draw_ns[unit.draw], unit.draw_name}]);
  }
  uint32_t number = 0;
  for (auto& [key, stratum] : strata) {
    stratum = number++;
  }
  for (size_t unit = 0; unit < sampling_units.size(); ++unit) {
    sampling_units[unit].stratum = *stratum_of_unit[unit];
  }
}

}  // namespace plimsoll::query
