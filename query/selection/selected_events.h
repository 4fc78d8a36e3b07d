// The events of the profiles that a selection is about.
#pragma once

#include <cstdint>

#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// Calls `use` with each OriginEventEntry that a filter of origins and events selects, in the order of their origins. Costs as much as is
// selected, and 1 ns for each other origin.
template <typename Use>
void for_each_selected(const Snapshot& snapshot, const store::RowFilter& filter, Use use) {
  const auto origins = static_cast<uint32_t>(snapshot.dictionaries.origins.size());
  for (uint32_t origin = 1; origin < origins; ++origin) {
    if (!store::RowFilter::selects(filter[Column::kOrigin], origin)) {
      continue;
    }
    for (const store::OriginEventEntry& entry : snapshot.events_of(origin)) {
      if (store::RowFilter::selects(filter[Column::kEvent], entry.event)) {
        use(entry);
      }
    }
  }
}

}  // namespace plimsoll::query
