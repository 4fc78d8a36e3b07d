// The events of the profiles that a selection is about.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// All events but those of squares, which are for margins.
inline store::IdSet shown_events(const Snapshot& snapshot) {
  std::vector<bool> flags;
  for (const store::EventEntry& event : snapshot.dictionaries.events) {
    flags.push_back(event.is_shown());
  }
  return store::IdSet::of_flags(std::move(flags));
}

// By which hits count as samples: of heaps hits are bytes, of waits nanoseconds. Of shown events.
store::Factors samples_per_hit(const Snapshot& snapshot);

// Calls `use` with each OriginEventEntry that a filter of origins and events selects, in the order of their origins. Costs as much as is
// selected, and 1 ns for each other origin.
template <typename Use>
void for_each_selected(const Snapshot& snapshot, const store::RowFilter& filter, Use use) {
  const auto origins = static_cast<uint32_t>(snapshot.dictionaries.origins.size());
  const std::vector<bool>& selected_origins = filter[store::Column::kOrigin].flags();
  const std::vector<bool>& selected_events = filter[store::Column::kEvent].flags();
  for (uint32_t origin = 1; origin < origins; ++origin) {
    if (!store::IdSet::selects(selected_origins, origin)) {
      continue;
    }
    for (const store::OriginEventEntry& entry : snapshot.events_of(origin)) {
      if (store::IdSet::selects(selected_events, entry.event)) {
        use(entry);
      }
    }
  }
}

}  // namespace plimsoll::query
