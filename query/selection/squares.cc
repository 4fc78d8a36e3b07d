#include "query/selection/squares.h"

#include <map>
#include <string_view>
#include <utility>

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
      if (filter[Column::kEvent][event] && dictionaries.events[event].name == name) {
        events[squares] = event;
      }
    }
  }
  return events;
}

// Several profiles' samples stand for different values each: as many samples as give the same sum of squares are fewer than there were.
void use_effective_samples(const Snapshot& snapshot, const store::Factors& values, store::Factors& squares) {
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
  store::Factors& squares = request.measures[kSquares];
  for (size_t event = 0; event < values.size(); ++event) {
    for (size_t origin = 0; origin < values[event].size(); ++origin) {
      const double samples = squares[event][origin];
      squares[event][origin] = samples > 0 ? values[event][origin] * values[event][origin] / samples : 0;
    }
  }
  if (snapshot.rolled_up_from_ns <= snapshot.rolled_up_to_ns) {
    use_effective_samples(snapshot, values, squares);
  }
  const auto events = events_by_squares(request.filter, snapshot.dictionaries);
  for (const auto& [of_squares, event] : events) {
    request.filter[Column::kEvent][of_squares] = true;
    values[of_squares].assign(values[event].size(), 0);
    squares[of_squares].assign(values[event].size(), 0);
    if (!request.group[Column::kEvent].empty()) {
      request.group[Column::kEvent][of_squares] = store::group_number(request.group[Column::kEvent], event);
    }
  }
  if (!events.empty()) {
    for (const store::OriginEventEntry& entry : snapshot.dictionaries.origin_squares) {
      if (const auto found = events.find(entry.event); found != events.end()) {
        const double value = values[found->second][entry.origin];
        squares[entry.event][entry.origin] = value * value * entry.scale;
        squares[found->second][entry.origin] = 0;
      }
    }
  }
  return request;
}

}  // namespace plimsoll::query
