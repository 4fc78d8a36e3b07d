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
