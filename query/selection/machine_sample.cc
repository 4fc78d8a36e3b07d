#include "query/selection/machine_sample.h"

#include "query/selection/selected_events.h"

namespace plimsoll::query {
namespace {

std::vector<bool> origins_with_events(const Snapshot& snapshot, const store::RowFilter& filter) {
  std::vector<bool> origins(snapshot.dictionaries.origins.size());
  for_each_selected(snapshot, filter, [&](const store::OriginEventEntry& entry) {
    if (entry.ran) {
      origins[entry.origin] = true;
    }
  });
  return origins;
}

}  // namespace

MachineSample::MachineSample(const Snapshot& snapshot, const store::RowFilter& filter) {
  const OriginIndex& index = snapshot.origins;
  const std::vector<bool> selected = origins_with_events(snapshot, filter);
  std::vector<uint32_t>& unit_of_origin = sampling_units_of_origins_.of_origin;
  unit_of_origin.assign(selected.size(), kNone);
  part_of_machine_.assign(index.machines, kNone);
  std::vector<uint32_t> place_of_unit(index.sampling_units.size(), kNone);
  for (uint32_t id = 1; id < selected.size(); ++id) {
    if (!selected[id]) {
      continue;
    }
    const store::OriginEntry& origin = snapshot.dictionaries.origins[id];
    // That it was drawn and answered.
    const auto probability =
        origin.draw.empty()
            ? std::nullopt
            : std::optional(origin.inclusion_probability / snapshot.response_of(id).weight_factor());
    const OriginIndex::Unit& unit = index.sampling_units[index.unit_of_origin[id]];
    uint32_t& place = place_of_unit[index.unit_of_origin[id]];
    if (place == kNone) {
      place = static_cast<uint32_t>(machines_.size());
      machines_.push_back(
          {.stratum = index.place_of_stratum[unit.stratum], .inclusion_probability = probability});
      machine_of_unit_.push_back(unit.machine);
      uint32_t& part = part_of_machine_[unit.machine];
      part = part == kNone ? unit.part : part;
    } else if (machines_[place].inclusion_probability != probability) {
      machines_[place].inclusion_probability.reset();
    }
    unit_of_origin[id] = place;
  }
  sampling_units_of_origins_.count = machines_.size();
}

OriginUnits MachineSample::machines_of_origins() const {
  OriginUnits machines{sampling_units_of_origins_.of_origin, part_of_machine_.size()};
  for (uint32_t& unit : machines.of_origin) {
    unit = unit == kNone ? kNone : machine_of_unit_[unit];
  }
  return machines;
}

std::vector<double> OriginUnits::sums(const std::vector<double>& by_origin) const {
  std::vector<double> sums(count);
  for (size_t origin = 0; origin < by_origin.size(); ++origin) {
    if (const uint32_t unit = of_origin[origin]; unit != kNone) {
      sums[unit] += by_origin[origin];
    }
  }
  return sums;
}

}  // namespace plimsoll::query
