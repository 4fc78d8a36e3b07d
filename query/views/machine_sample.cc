#include "query/views/machine_sample.h"

namespace plimsoll::query {
namespace {

std::vector<bool> origins_with_events(const store::Dictionaries& dictionaries,
                                      const store::RowFilter& filter) {
  std::vector<bool> origins(dictionaries.origins.size());
  for (const store::OriginEventEntry& entry : dictionaries.origin_events) {
    if (entry.ran && store::RowFilter::selects(filter.events, entry.event) &&
        store::RowFilter::selects(filter.origins, entry.origin)) {
      origins[entry.origin] = true;
    }
  }
  return origins;
}

}  // namespace

MachineSample::MachineSample(const Snapshot& snapshot, const store::RowFilter& filter) {
  const OriginIndex& index = snapshot.origins;
  const std::vector<bool> selected = origins_with_events(snapshot.dictionaries, filter);
  unit_of_origin_.assign(selected.size(), kNone);
  std::vector<uint32_t> place_of_unit(index.units.size(), kNone);
  for (uint32_t id = 1; id < selected.size(); ++id) {
    if (!selected[id]) {
      continue;
    }
    const store::OriginEntry& origin = snapshot.dictionaries.origins[id];
    const auto probability = origin.draw.empty() ? std::nullopt : std::optional(origin.inclusion_probability);
    uint32_t& place = place_of_unit[index.unit_of_origin[id]];
    if (place == kNone) {
      place = static_cast<uint32_t>(machines_.size());
      machines_.push_back(
          {.stratum = index.units[index.unit_of_origin[id]].stratum, .inclusion_probability = probability});
    } else if (machines_[place].inclusion_probability != probability) {
      machines_[place].inclusion_probability.reset();
    }
    unit_of_origin_[id] = place;
  }
}

}  // namespace plimsoll::query
