#include "query/selection/weights.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "query/selection/selected_events.h"

namespace plimsoll::query {
namespace {

using store::Column;

const store::OriginEntry& origin_of(const Snapshot& snapshot, const store::OriginEventEntry& entry) {
  return snapshot.dictionaries.origins[entry.origin];
}

uint64_t profiles_of(const store::OriginEventEntry& entry) {
  return std::max<uint64_t>(1, entry.profiles);
}

// Where a draw does not say for which interval it speaks, all speak for as much.
double interval_ns(const store::OriginEntry& origin) {
  return std::max(1.0, static_cast<double>(origin.interval_ns));
}

}  // namespace

double weight_of(const store::OriginEntry& origin, int64_t observed_ns) {
  const double of_time = origin.interval_ns == 0
                             ? 1
                             : static_cast<double>(origin.interval_ns) / static_cast<double>(observed_ns);
  return of_time / origin.inclusion_probability;
}

Weights::Weights(const Snapshot& snapshot, const store::RowFilter& filter,
                 const std::vector<bool>& of_its_draws)
    : snapshot_(snapshot),
      snapshots_(snapshot.origins.observed_things),
      times_ns_(snapshot.origins.observed_things) {
  count_snapshots(filter);
  add_up_intervals(filter, of_its_draws);
  add_up_times(filter);
}

bool Weights::is_snapshot(const store::OriginEventEntry& entry) const {
  return snapshot_.dictionaries.events[entry.event].kind == wire::SNAPSHOT;
}

int64_t Weights::window_ns(const store::OriginEventEntry& entry) const {
  const store::OriginEntry& origin = origin_of(snapshot_, entry);
  // Of an hour in which the event never ran: as of profiles in which it did not.
  return entry.observed_ns > 0 ? entry.observed_ns : origin.to_ns - origin.from_ns;
}

void Weights::count_snapshots(const store::RowFilter& filter) {
  for_each_selected(snapshot_, filter, [this](const store::OriginEventEntry& entry) {
    if (is_snapshot(entry)) {
      snapshots_.of(entry.event, snapshot_.origins.thing_of_origin[entry.origin]) += profiles_of(entry);
    }
  });
}

void Weights::add_up_intervals(const store::RowFilter& filter, const std::vector<bool>& of_its_draws) {
  std::vector<uint32_t> events;
  for (uint32_t event = 1; event < snapshot_.dictionaries.events.size(); ++event) {
    if (filter[Column::kEvent].selects(event) &&
        snapshot_.dictionaries.events[event].kind == wire::SNAPSHOT) {
      events.push_back(event);
    }
  }
  if (events.empty()) {
    return;
  }
  store::RowFilter of_snapshots;
  of_snapshots[Column::kEvent] = store::IdSet::of(events);
  of_snapshots[Column::kOrigin] = store::IdSet::of_flags(of_its_draws);
  std::map<uint32_t, std::map<std::string_view, double>> intervals;  // by event and draw
  for_each_selected(snapshot_, of_snapshots, [&](const store::OriginEventEntry& entry) {
    if (const store::OriginEntry& origin = origin_of(snapshot_, entry); entry.ran && !origin.draw.empty()) {
      intervals[entry.event].try_emplace(origin.draw, interval_ns(origin));
    }
  });
  for (const auto& [event, of_draws] : intervals) {
    for (const auto& [draw, length_ns] : of_draws) {
      intervals_ns_[event] += length_ns;
    }
  }
}

void Weights::add_up_times(const store::RowFilter& filter) {
  std::vector<bool> is_wanted(snapshot_.origins.observed_things);
  const AppendOnlyList<uint32_t>& things = snapshot_.origins.thing_of_origin;
  for_each_selected(snapshot_, filter, [&](const store::OriginEventEntry& entry) {
    if (!origin_of(snapshot_, entry).draw.empty()) {
      is_wanted[things[entry.origin]] = true;
    }
  });
  const std::vector<bool>& events = filter[Column::kEvent].flags();
  for (uint32_t origin = 1; origin < things.size(); ++origin) {
    if (!is_wanted[things[origin]]) {
      continue;
    }
    for (const store::OriginEventEntry& entry : snapshot_.events_of(origin)) {
      if (entry.ran && store::IdSet::selects(events, entry.event)) {
        times_ns_.of(entry.event, things[origin]) += window_ns(entry);
      }
    }
  }
}

double Weights::of_snapshot(const store::OriginEventEntry& entry) {
  const store::OriginEntry& origin = origin_of(snapshot_, entry);
  const uint64_t snapshots =
      std::max<uint64_t>(1, snapshots_.of(entry.event, snapshot_.origins.thing_of_origin[entry.origin]));
  const auto of_draws = intervals_ns_.find(entry.event);
  const double share =
      origin.draw.empty() || of_draws == intervals_ns_.end() ? 1 : interval_ns(origin) / of_draws->second;
  return share / origin.inclusion_probability / static_cast<double>(snapshots);
}

double Weights::of_time(const store::OriginEventEntry& entry) {
  const store::OriginEntry& origin = origin_of(snapshot_, entry);
  const int64_t all_ns =
      origin.draw.empty() ? 0 : times_ns_.of(entry.event, snapshot_.origins.thing_of_origin[entry.origin]);
  return weight_of(origin, all_ns == 0 ? window_ns(entry) : all_ns);
}

double Weights::of(const store::OriginEventEntry& entry) {
  const double weight = is_snapshot(entry) ? of_snapshot(entry) : of_time(entry);
  return weight * snapshot_.response_of(entry.origin).weight_factor();
}

double Weights::exposure(const store::OriginEventEntry& entry) {
  return of(entry) * (is_snapshot(entry) ? static_cast<double>(profiles_of(entry))
                                         : static_cast<double>(window_ns(entry)));
}

}  // namespace plimsoll::query
