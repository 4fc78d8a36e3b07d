#include "query/selection/squares.h"

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/squares.h"
#include "query/selection/selection.h"

namespace plimsoll::query {
namespace {

// The selected events that have such an event, by that.
std::map<uint32_t, uint32_t> events_by_squares(const store::RowFilter& filter,
                                               const store::Dictionaries& dictionaries) {
  std::map<uint32_t, uint32_t> events;
  for (uint32_t squares = 1; squares < dictionaries.events.size(); ++squares) {
    if (dictionaries.events[squares].is_shown()) {
      continue;
    }
    const std::string_view name = wire::squared_event(dictionaries.events[squares].name);
    for (uint32_t event = 1; event < dictionaries.events.size(); ++event) {
      if (filter[Column::kEvent].selects(event) && dictionaries.events[event].name == name) {
        events[squares] = event;
      }
    }
  }
  return events;
}

using ByEventAndOrigin = std::vector<std::vector<double>>;

// Of one event, by origin.
std::vector<double> squares_of(std::span<const double> values, std::span<const double> samples) {
  std::vector<double> squares(values.size());
  for (size_t origin = 0; origin < values.size(); ++origin) {
    squares[origin] = samples[origin] > 0 ? values[origin] * values[origin] / samples[origin] : 0;
  }
  return squares;
}

// Events of squares are in the groups of the events that they are of.
store::IdGrouping with_events(const store::IdGrouping& grouping, const std::map<uint32_t, uint32_t>& events,
                              size_t count) {
  if (grouping.is_one()) {
    return grouping;
  }
  std::vector<uint32_t> groups;
  for (uint32_t event = 0; event < count; ++event) {
    groups.push_back(grouping.of(event));
  }
  for (const auto& [of_squares, event] : events) {
    groups[of_squares] = grouping.of(event);
  }
  return store::IdGrouping::by(std::move(groups));
}

// Several profiles' samples stand for different values each: as many samples as give the same sum of squares are fewer than there were.
void use_effective_samples(const Snapshot& snapshot, const store::Factors& values,
                           ByEventAndOrigin& squares) {
  for (const store::OriginEventEntry& entry : snapshot.dictionaries.origin_events) {
    if (entry.effective_samples > 0 && entry.origin < squares[entry.event].size()) {
      const double value = values[entry.event][entry.origin];
      squares[entry.event][entry.origin] =
          value * value * static_cast<double>(entry.hits) / entry.effective_samples;
    }
  }
}

}  // namespace

// Where a profile does not tell its samples apart, they are taken to stand for as much each: then sum w^2 is (sum
// w)^2 over their number.
store::AggregateRequest with_squares(store::AggregateRequest request, const Snapshot& snapshot) {
  store::Factors& values = request.measures[kValue];
  ByEventAndOrigin squares(values.size());
  for (size_t event = 0; event < values.size(); ++event) {
    squares[event] = squares_of(values[event].values(), request.measures[kSquares][event].values());
  }
  if (snapshot.rolled_up_from_ns <= snapshot.rolled_up_to_ns) {
    use_effective_samples(snapshot, values, squares);
  }
  const auto events = events_by_squares(request.filter, snapshot.dictionaries);
  std::vector<uint32_t> added;
  for (const auto& [of_squares, event] : events) {
    added.push_back(of_squares);
    values[of_squares] = store::IdTable<double>(std::vector<double>(values[event].size()));
    squares[of_squares].assign(values[event].size(), 0);
  }
  if (!events.empty()) {
    request.group[Column::kEvent] = with_events(request.group[Column::kEvent], events, values.size());
    request.filter[Column::kEvent] = store::union_of(request.filter[Column::kEvent], store::IdSet::of(added));
    for (const store::OriginEventEntry& entry : snapshot.dictionaries.origin_squares) {
      if (const auto found = events.find(entry.event); found != events.end()) {
        const double value = values[found->second][entry.origin];
        squares[entry.event][entry.origin] = value * value * entry.scale;
        squares[found->second][entry.origin] = 0;
      }
    }
  }
  request.measures[kSquares] = store::factors_of(std::move(squares));
  return request;
}

}  // namespace plimsoll::query
