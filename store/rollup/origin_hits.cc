#include "store/rollup/origin_hits.h"

#include <algorithm>

namespace plimsoll::store {

void OriginHits::add_origin(std::span<const EventRecord> events) {
  for (const EventRecord& event : events) {
    events_.push_back({.event = event.event, .expected = event.hits});
  }
  first_.push_back(events_.size());
}

Status OriginHits::add(const Row& row) {
  const size_t origin = row[Column::kOrigin];
  if (origin >= origins()) {
    return fail(ErrorCode::kCorrupt, "the segments have IDs that the catalogue does not have");
  }
  const auto events = std::span(events_).subspan(first_[origin], first_[origin + 1] - first_[origin]);
  const auto known = std::ranges::lower_bound(events, row[Column::kEvent], {}, &EventHits::event);
  if (known == events.end() || known->event != row[Column::kEvent]) {
    return fail(ErrorCode::kCorrupt, "a profile has rows of an event that it did not come with");
  }
  known->found += row.hits;
  return {};
}

Status OriginHits::expect_all(size_t first, size_t end) const {
  const auto events = std::span(events_).subspan(first_[first], first_[end] - first_[first]);
  const bool are_all =
      std::ranges::all_of(events, [](const EventHits& event) { return event.found == event.expected; });
  return are_all ? Status()
                 : fail(ErrorCode::kCorrupt, "the segments have other hits than the profiles came with");
}

}  // namespace plimsoll::store
