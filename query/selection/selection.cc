#include "query/selection/selection.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "base/time.h"
#include "query/selection/coverage_notes.h"
#include "query/selection/frame_matches.h"
#include "query/selection/selected_events.h"
#include "query/selection/unanswered.h"
#include "query/snapshot/event_lookup.h"
#include "store/draws/draw.h"

namespace plimsoll::query {
namespace {

// Clears the flags of the entries from `first` on whose value does not pass.
void apply(const Predicate& predicate, uint32_t first, size_t entries, std::vector<bool>& flags,
           const std::function<std::string(uint32_t)>& value_of) {
  if (flags.empty()) {
    flags.assign(entries, true);
  }
  for (uint32_t id = first; id < entries; ++id) {
    if (flags[id] && predicate.matches(value_of(id)) == predicate.is_negated()) {
      flags[id] = false;
    }
  }
}

// A filter on frames holds for stacks that contain a match; its negation for those that contain none.
void apply_to_stacks(const Predicate& predicate, const Snapshot& snapshot, std::vector<bool>& flags) {
  const auto& stacks = snapshot.dictionaries.stacks;
  const FrameMatches frames(predicate, snapshot);
  std::vector<bool> matching_location(snapshot.dictionaries.locations.size());
  for (uint32_t location = 0; location < matching_location.size(); ++location) {
    matching_location[location] = frames.matches_any(location);
  }
  if (flags.empty()) {
    flags.assign(stacks.size(), true);
  }
  std::vector<bool> contains_match(stacks.size());
  for (size_t id = 1; id < stacks.size(); ++id) {
    // Parents come first: their IDs are smaller.
    contains_match[id] = matching_location[stacks[id].location] || contains_match[stacks[id].parent];
  }
  contains_match[0] = matching_location[0];  // the stand-in for no stack; nobody's parent
  for (size_t id = 0; id < stacks.size(); ++id) {
    if (contains_match[id] == predicate.is_negated()) {
      flags[id] = false;
    }
  }
}

void apply(const Predicate& predicate, const Snapshot& snapshot, store::AggregateRequest& request) {
  const Dimension& dimension = predicate.dimension();
  const Column column = column_of(dimension.source);
  switch (dimension.source) {
    case DimensionSource::kFrame:
      apply_to_stacks(predicate, snapshot, request.filter[Column::kStack]);
      break;
    case DimensionSource::kStack:
      apply(predicate, 0, entries_of(snapshot, column), request.filter[column],
            [&](uint32_t id) { return stack_value(snapshot, id); });
      break;
    default:
      // No labels are an entry of their own: most rows have none.
      apply(predicate, column == Column::kLabels ? 0 : 1, entries_of(snapshot, column),
            request.filter[column], [&](uint32_t id) { return entry_value(snapshot, dimension, id); });
  }
}

void leave_out_gone(const HiddenFrames& hidden, std::vector<bool>& stacks) {
  stacks.resize(hidden.stacks().size(), stacks.empty());
  for (uint32_t stack = 0; stack < stacks.size(); ++stack) {
    stacks[stack] = stacks[stack] && !hidden.is_gone(stack);
  }
}

// What an event has on each of some things, by number: sparse, since most events are of few of them.
template <typename Value>
class ByEvent {
 public:
  explicit ByEvent(size_t things) : things_(things) {}

  Value& of(uint32_t event, uint32_t thing) {
    std::vector<Value>& values = values_[event];
    values.resize(things_);
    return values[thing];
  }

 private:
  size_t things_;
  std::map<uint32_t, std::vector<Value>> values_;
};

// Snapshots of the same things do not add up over time: a view shows their mean. Counts the selected ones.
class SnapshotCounts {
 public:
  SnapshotCounts(const Snapshot& snapshot, const store::RowFilter& filter)
      : snapshot_(snapshot), counts_(snapshot.origins.series) {
    for_each_selected(snapshot, filter, [this](const store::OriginEventEntry& entry) {
      if (is_snapshot(entry)) {
        count_of(entry) += std::max<uint64_t>(1, entry.profiles);
      }
    });
  }

  bool is_snapshot(const store::OriginEventEntry& entry) const {
    return snapshot_.dictionaries.events[entry.event].kind == wire::SNAPSHOT;
  }
  // At least 1, also for what is not selected.
  double of(const store::OriginEventEntry& entry) {
    return static_cast<double>(std::max<uint64_t>(1, count_of(entry)));
  }

 private:
  uint64_t& count_of(const store::OriginEventEntry& entry) {
    return counts_.of(entry.event, snapshot_.origins.series_of_origin[entry.origin]);
  }

  const Snapshot& snapshot_;
  ByEvent<uint64_t> counts_;  // by event and series
};

int64_t observed_ns(const Snapshot& snapshot, const store::OriginEventEntry& entry) {
  const store::OriginEntry& origin = snapshot.dictionaries.origins[entry.origin];
  // Of an hour in which the event never ran: as of profiles in which it did not.
  return entry.observed_ns > 0 ? entry.observed_ns : origin.to_ns - origin.from_ns;
}

// How long each machine that is selected was observed for a draw, for each event: in windows in which its counter ran, whether they are
// selected or not.
class ObservedTimes {
 public:
  ObservedTimes(const Snapshot& snapshot, const store::RowFilter& filter)
      : snapshot_(snapshot), times_ns_(snapshot.origins.sampling_units.size()) {
    const std::vector<bool> is_wanted = drawn_units(filter);
    const AppendOnlyList<uint32_t>& units = snapshot.origins.unit_of_origin;
    for (uint32_t origin = 1; origin < units.size(); ++origin) {
      if (!is_wanted[units[origin]]) {
        continue;
      }
      for (const store::OriginEventEntry& entry : snapshot.events_of(origin)) {
        if (entry.ran && filter[Column::kEvent][entry.event]) {
          time_of(entry) += observed_ns(snapshot_, entry);
        }
      }
    }
  }

  int64_t of(const store::OriginEventEntry& entry) {
    const int64_t time_ns = origin_of(entry).draw.empty() ? 0 : time_of(entry);
    return time_ns == 0 ? observed_ns(snapshot_, entry) : time_ns;
  }

 private:
  const store::OriginEntry& origin_of(const store::OriginEventEntry& entry) const {
    return snapshot_.dictionaries.origins[entry.origin];
  }
  // Of origins that are selected.
  std::vector<bool> drawn_units(const store::RowFilter& filter) const {
    std::vector<bool> units(snapshot_.origins.sampling_units.size());
    for_each_selected(snapshot_, filter, [&](const store::OriginEventEntry& entry) {
      if (!origin_of(entry).draw.empty()) {
        units[snapshot_.origins.unit_of_origin[entry.origin]] = true;
      }
    });
    return units;
  }
  int64_t& time_of(const store::OriginEventEntry& entry) {
    return times_ns_.of(entry.event, snapshot_.origins.unit_of_origin[entry.origin]);
  }

  const Snapshot& snapshot_;
  ByEvent<int64_t> times_ns_;  // by event and unit
};

// What a hit in a profile that is selected stands for in the fleet.
class Weights {
 public:
  Weights(const Snapshot& snapshot, const store::RowFilter& filter)
      : snapshot_(snapshot), snapshots_(snapshot, filter), observed_(snapshot, filter) {}

  double of(const store::OriginEventEntry& entry) {
    const store::OriginEntry& origin = snapshot_.dictionaries.origins[entry.origin];
    // What there was at a moment does not grow with the time that it speaks for.
    const double weight = snapshots_.is_snapshot(entry)
                              ? 1 / origin.inclusion_probability / snapshots_.of(entry)
                              : weight_of(origin, observed_.of(entry));
    return weight * snapshot_.response_of(entry.origin).weight_factor();
  }

  // How much of the machines' time the profile stands for, in ns; a snapshot, of the machines.
  double exposure(const store::OriginEventEntry& entry) {
    if (snapshots_.is_snapshot(entry)) {
      return of(entry) * std::max<double>(1, entry.profiles);
    }
    return of(entry) * static_cast<double>(observed_ns(snapshot_, entry));
  }

 private:
  const Snapshot& snapshot_;
  SnapshotCounts snapshots_;
  ObservedTimes observed_;
};

void add_factors(const Snapshot& snapshot, store::AggregateRequest& request) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  Weights weights(snapshot, request.filter);
  request.measures.assign(2, store::Factors(dictionaries.events.size()));
  for (size_t event = 0; event < dictionaries.events.size(); ++event) {
    if (request.filter[Column::kEvent][event]) {
      request.measures[kValue][event].assign(dictionaries.origins.size(), 0);
      request.measures[kSamples][event].assign(dictionaries.origins.size(), 1);
    }
  }
  for_each_selected(snapshot, request.filter, [&](const store::OriginEventEntry& entry) {
    request.measures[kValue][entry.event][entry.origin] = weights.of(entry) * entry.scale;
    if (entry.hits != 0) {
      request.measures[kSamples][entry.event][entry.origin] =
          static_cast<double>(entry.samples) / static_cast<double>(entry.hits);
    }
  });
}

// Of the parts of draws that a selection stands on, by their numbers.
void note_missing(const Snapshot& snapshot, const std::map<uint32_t, DrawnPart>& strata,
                  ResolvedSelection& resolved) {
  size_t drawn = 0;
  size_t answered = 0;
  std::set<DrawnPart> parts;
  for (const auto& [stratum, part] : strata) {
    drawn += snapshot.responses[stratum].drawn;
    answered += snapshot.responses[stratum].answered;
    parts.insert(part);
  }
  if (answered == drawn) {
    return;
  }
  const auto cause = read_commonest_cause(snapshot.fleet, parts, wall_now_ns());
  resolved.notes.push_back(unanswered_text(drawn - answered, drawn, cause.value_or(CommonestCause())));
  if (!cause) {
    resolved.notes.push_back("why machines sent no profile is unknown: " + cause.error().text());
  }
}

// Profiles at an end of the time asked for, where they are so many that the ends of windows decide what is seen.
struct ProfilesByTime {
  size_t all = 0;
  size_t over_an_end = 0;
};

// Of what is rolled up, whether the hour does: profiles of it reach beyond it, as others do.
bool crosses_an_end(const store::OriginEntry& origin, const Selection& selection) {
  int64_t from_ns = origin.from_ns;
  int64_t to_ns = origin.to_ns;
  if (origin.is_rolled_up) {
    const int64_t middle_ns = std::midpoint(origin.from_ns, origin.to_ns);
    from_ns = middle_ns - (middle_ns % kNsPerHour + kNsPerHour) % kNsPerHour;
    to_ns = from_ns + kNsPerHour;
  }
  return from_ns < selection.since_ns || to_ns > selection.until_ns;
}

void note_ends(const ProfilesByTime& profiles, ResolvedSelection& resolved) {
  constexpr size_t kOneOf = 20;
  if (profiles.over_an_end * kOneOf > profiles.all) {
    resolved.notes.push_back(fmt::format(
        "{} of {} profiles cross a boundary of the time range: a profile counts where its middle is",
        profiles.over_an_end, profiles.all));
  }
}

void add_coverage(const Selection& selection, const Snapshot& snapshot, ResolvedSelection& resolved) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  Coverage& coverage = resolved.coverage;
  std::vector<bool> is_drawn(snapshot.origins.machines);
  std::set<std::string> notes;
  std::map<uint32_t, DrawnPart> strata;
  ProfilesByTime profiles;
  SamplingGaps gaps(snapshot.origins.machines);
  MachineValues values(snapshot.origins.machines);
  for_each_selected(snapshot, resolved.request.filter, [&](const store::OriginEventEntry& entry) {
    const store::OriginEntry& origin = dictionaries.origins[entry.origin];
    coverage.from_ns =
        coverage.machines_drawn == 0 ? origin.from_ns : std::min(coverage.from_ns, origin.from_ns);
    coverage.to_ns = std::max(coverage.to_ns, origin.to_ns);
    coverage.lost += static_cast<int64_t>(entry.lost);
    const uint32_t machine = snapshot.origins.machine_of(entry.origin);
    coverage.machines_drawn += is_drawn[machine] ? 0 : 1;
    is_drawn[machine] = true;
    strata.emplace(snapshot.origins.stratum_of(entry.origin), DrawnPart{origin.draw, origin.stratum});
    if (entry.event == resolved.event) {
      gaps.add(machine, origin, entry);
      values.add(machine, origin, entry);
    }
    ++profiles.all;
    profiles.over_an_end += crosses_an_end(origin, selection) ? 1 : 0;
    // Of several profiles there may be several.
    for (size_t from = 0; from < entry.note.size();) {
      const size_t end = std::min(entry.note.find('\n', from), entry.note.size());
      notes.insert(entry.note.substr(from, end - from));
      from = end + 1;
    }
  });
  coverage.machines_live = std::max(snapshot.machines_registered, coverage.machines_drawn);
  note_ends(profiles, resolved);
  gaps.describe(dictionaries.events[resolved.event], resolved.notes);
  values.describe(snapshot, resolved.notes);
  resolved.notes.insert(resolved.notes.end(), notes.begin(), notes.end());
  note_missing(snapshot, strata, resolved);
}

// The rows of a selection, of whatever events.
store::AggregateRequest filters_of(const Selection& selection, const Snapshot& snapshot) {
  store::AggregateRequest request;
  const auto& origins = snapshot.dictionaries.origins;
  // Draws by order speak for the same time as those of the policy, and are about some machines: they are to be asked
  // for.
  const bool wants_orders = std::ranges::any_of(selection.where, [](const Predicate& predicate) {
    return predicate.dimension().name == "draw" && !predicate.is_negated();
  });
  request.filter[Column::kOrigin].assign(origins.size(), false);
  for (size_t id = 1; id < origins.size(); ++id) {
    request.filter[Column::kOrigin][id] = selection.is_about(snapshot.origins.middle_ns[id]) &&
                                          (wants_orders || !store::is_by_order(origins[id].draw));
  }
  for (const Predicate& predicate : selection.where) {
    apply(predicate, snapshot, request);
  }
  // What was allocated by nothing but an allocator's frames, as of a stack that was cut, still counts.
  if (const auto hidden = selection.hide.empty() ? nullptr : hidden_frames(selection, snapshot)) {
    leave_out_gone(*hidden, request.filter[Column::kStack]);
  }
  return request;
}

// Leaves the origins in which all of `events` were counted.
void require_all(const std::vector<uint32_t>& events, const Snapshot& snapshot, ResolvedSelection& resolved) {
  const std::set<uint32_t> wanted(events.begin(), events.end());
  std::map<uint32_t, size_t> counted;  // by origin: how many of them
  for_each_selected(snapshot, resolved.request.filter, [&](const store::OriginEventEntry& entry) {
    if (entry.ran && wanted.contains(entry.event)) {
      ++counted[entry.origin];
    }
  });
  resolved.request.filter[Column::kOrigin].assign(resolved.request.filter[Column::kOrigin].size(), false);
  size_t complete = 0;
  for (const auto& [origin, count] : counted) {
    resolved.request.filter[Column::kOrigin][origin] = count == wanted.size();
    complete += count == wanted.size() ? 1 : 0;
  }
  if (complete < counted.size()) {
    resolved.notes.push_back(fmt::format("{} of {} profiles are not used: they lack one of the events",
                                         counted.size() - complete, counted.size()));
  }
}

// Entry points of C and C++, and what tcmalloc and jemalloc call below them; their libraries where nobody knows names of them.
constexpr std::string_view kAllocatorFrames =
    R"(^(__libc_|__|tc_|je_|_rjem_)?)"
    R"((malloc|calloc|realloc|reallocarray|free|cfree|memalign|aligned_alloc|posix_memalign|valloc|pvalloc)$)"
    R"(|^(void ?\* ?)?operator (new|delete)|^tc_(new|delete)|^(\(anonymous namespace\)::)?do_(malloc|memalign|realloc))"
    R"(|^tcmalloc::|^(je_|_rjem_)|^(imalloc|ialloc|iralloc|malloc_default|prof_backtrace|prof_alloc_prep))"
    R"(|(^|/)lib(tcmalloc|jemalloc)[^/]*\.so)";

std::vector<Predicate> hidden_by_default(const Selection& selection, const Snapshot& snapshot) {
  if (selection.hides_only_named) {
    return {};
  }
  const auto event = find_event(selection.event, snapshot);
  const std::string_view name = event ? std::string_view(snapshot.dictionaries.events[event->id].name) : "";
  if (!name.starts_with("heap-") && !name.starts_with("alloc-")) {
    return {};
  }
  const auto allocator = Predicate::of_frames("hide", kAllocatorFrames, false);
  return allocator ? std::vector{*allocator} : std::vector<Predicate>();
}

}  // namespace

bool Selection::is_about(int64_t middle_ns) const {
  return middle_ns >= since_ns && middle_ns < until_ns;
}

std::shared_ptr<const HiddenFrames> hidden_frames(const Selection& selection, const Snapshot& snapshot) {
  const std::vector<Predicate> hide =
      selection.hide.empty() ? hidden_by_default(selection, snapshot) : selection.hide;
  if (hide.empty()) {
    return nullptr;
  }
  std::vector<FrameMatches> matches;
  std::string text;
  for (const Predicate& predicate : hide) {
    matches.emplace_back(predicate, snapshot);
    text += fmt::format("{} {}\n", predicate.text().size(), predicate.text());
  }
  const auto is_hidden = [&](FramePlace place) {
    return std::ranges::any_of(
        matches, [&](const FrameMatches& match) { return match.matches(place.location, place.depth); });
  };
  auto hidden = std::make_shared<const HiddenFrames>(std::move(text), is_hidden, snapshot);
  return hidden->hides_any() ? hidden : nullptr;
}

std::vector<double> exposures(const ResolvedSelection& selection, const Snapshot& snapshot) {
  const store::RowFilter& filter = selection.request.filter;
  Weights weights(snapshot, filter);
  std::vector<double> exposures(snapshot.dictionaries.origins.size());
  for_each_selected(snapshot, filter, [&](const store::OriginEventEntry& entry) {
    if (entry.event == selection.event && entry.ran) {
      exposures[entry.origin] = weights.exposure(entry);
    }
  });
  return exposures;
}

store::RowFilter of_origins_of_either(const store::RowFilter& base, const store::RowFilter& other) {
  store::RowFilter either = base;
  std::vector<bool>& origins = either[Column::kOrigin];
  for (size_t origin = 0; origin < origins.size(); ++origin) {
    origins[origin] = origins[origin] || other[Column::kOrigin][origin];
  }
  return either;
}

double weight_of(const store::OriginEntry& origin, int64_t observed_ns) {
  const double of_time = origin.interval_ns == 0
                             ? 1
                             : static_cast<double>(origin.interval_ns) / static_cast<double>(observed_ns);
  return of_time / origin.inclusion_probability;
}

std::string_view unit_name(wire::Unit unit) {
  switch (unit) {
    case wire::NANOSECONDS:
      return "ns";
    case wire::BYTES:
      return "bytes";
    default:
      return "count";
  }
}

Result<ResolvedSelection> resolve(const Selection& selection, const Snapshot& snapshot) {
  const auto event = find_event(selection.event, snapshot);
  if (!event) {
    return propagate(event);
  }
  ResolvedSelection resolved;
  resolved.event = event->id;
  if (!event->note.empty()) {
    resolved.notes.push_back(event->note);
  }
  resolved.request = filters_of(selection, snapshot);
  resolved.request.filter[Column::kEvent].assign(snapshot.dictionaries.events.size(), false);
  resolved.request.filter[Column::kEvent][event->id] = true;
  add_factors(snapshot, resolved.request);
  add_coverage(selection, snapshot, resolved);
  if (selection.hide.empty() && hidden_frames(selection, snapshot) != nullptr) {
    resolved.notes.emplace_back("frames of the allocator are hidden (--hide none shows them)");
  }
  return resolved;
}

ResolvedSelection resolve_together(const Selection& selection, const std::vector<uint32_t>& events,
                                   const Snapshot& snapshot) {
  ResolvedSelection resolved;
  resolved.event = events.front();
  resolved.request = filters_of(selection, snapshot);
  resolved.request.filter[Column::kEvent].assign(snapshot.dictionaries.events.size(), false);
  for (const uint32_t event : events) {
    resolved.request.filter[Column::kEvent][event] = true;
  }
  require_all(events, snapshot, resolved);
  add_factors(snapshot, resolved.request);
  add_coverage(selection, snapshot, resolved);
  return resolved;
}

ResolvedSelection resolve_all(const Snapshot& snapshot) {
  ResolvedSelection resolved;
  resolved.request = filters_of({}, snapshot);
  for (const store::EventEntry& event : snapshot.dictionaries.events) {
    resolved.request.filter[Column::kEvent].push_back(event.is_shown());
  }
  add_factors(snapshot, resolved.request);
  add_coverage({}, snapshot, resolved);
  return resolved;
}

}  // namespace plimsoll::query
