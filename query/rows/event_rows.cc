#include "query/rows/event_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"

namespace plimsoll::query {

EventRows::EventRows(const Selection& selection, const std::vector<uint32_t>& events,
                     std::span<const Dimension> by, const Snapshot& snapshot)
    : selection_(selection),
      events_(events.size()),
      snapshot_(snapshot),
      resolved_(resolve_together(selection, events, snapshot)),
      grouping_(by, hidden_frames(selection, snapshot), snapshot),
      whole_(events.size()) {
  rows_.events = events_;
  grouping_.add_groups(resolved_.request);
  std::vector<uint32_t> place_of_event(snapshot.dictionaries.events.size());
  for (uint32_t place = 0; place < events.size(); ++place) {
    place_of_event[events[place]] = place;
  }
  resolved_.request.group[Column::kEvent] = store::IdGrouping::by(std::move(place_of_event));
}

Status EventRows::sum(size_t ranking, size_t limit) {
  store::AggregateRequest request = resolved_.request;
  // The share without symbols needs the leaves in any case.
  request.group[Column::kStack] = store::IdGrouping::each();
  const auto cells = snapshot_.rows->aggregate(request);
  if (!cells) {
    return propagate(cells);
  }
  SymbolCoverage symbols(snapshot_);
  double samples = 0;
  for (size_t i = 0; i < cells->size(); ++i) {
    const store::CellKey& key = cells->keys[i];
    samples += cells->sum(i, kSamples);
    whole_[key[Column::kEvent]] += cells->sum(i, kValue);
    if (key[Column::kEvent] == ranking) {
      symbols.add(key[Column::kStack], cells->sum(i, kValue), cells->sum(i, kSamples));
    }
  }
  symbols.describe(resolved_.coverage);
  resolved_.coverage.samples = std::llround(samples);
  const SummedRows all = sum_rows(*cells, events_, grouping_, snapshot_);
  if (all.size() == 0) {
    resolved_.notes.push_back("no results: " + why_empty(selection_, snapshot_));
  }
  std::vector<uint32_t> places;  // those of callers alone are no rows
  for (uint32_t row = 0; row < all.size(); ++row) {
    const auto values = std::span(all.values).subspan(row * events_, events_);
    if (std::ranges::any_of(values, [](const RowValues& value) { return value.self != 0; })) {
      places.push_back(row);
    }
  }
  rows_ = first_rows(all, std::move(places), limit, [&](uint32_t a, uint32_t b) {
    const double x = all.of(a, ranking).self;
    const double y = all.of(b, ranking).self;
    return x != y ? x > y : grouping_.less(all.keys[a], all.keys[b]);
  });
  return {};
}

Result<PerMachineRows> EventRows::sample(const MachineSample& sample) {
  auto sampled = RowSplitter(rows_.keys, events_, grouping_, snapshot_)
                     .split(resolved_.request, sample.sampling_units_of_origins());
  return sampled ? std::move(sampled)
                 : with_hint(propagate(sampled), "select fewer rows (limit), or give margins=no");
}

}  // namespace plimsoll::query
