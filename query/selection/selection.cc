#include "query/selection/selection.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "base/time.h"
#include "query/selection/conditions.h"
#include "query/selection/coverage_notes.h"
#include "query/selection/frame_matches.h"
#include "query/selection/selected_events.h"
#include "query/selection/unanswered.h"
#include "query/selection/weights.h"
#include "query/snapshot/event_lookup.h"
#include "store/draws/draw.h"

namespace plimsoll::query {
namespace {

// What is selected, while predicates narrow it: a flag for each ID; empty: all.
using Flags = store::ByColumn<std::vector<bool>>;

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

void apply(const Predicate& predicate, const Snapshot& snapshot, Flags& flags) {
  const Dimension& dimension = predicate.dimension();
  const Column column = column_of(dimension.source);
  switch (dimension.source) {
    case DimensionSource::kFrame:
      apply_to_stacks(predicate, snapshot, flags[Column::kStack]);
      break;
    case DimensionSource::kStack:
      apply(predicate, 0, entries_of(snapshot, column), flags[column],
            [&](uint32_t id) { return stack_value(snapshot, id); });
      break;
    default:
      // No labels are an entry of their own: most rows have none.
      apply(predicate, column == Column::kLabels ? 0 : 1, entries_of(snapshot, column), flags[column],
            [&](uint32_t id) { return entry_value(snapshot, dimension, id); });
  }
}

void leave_out_gone(const HiddenFrames& hidden, std::vector<bool>& stacks) {
  stacks.resize(hidden.stacks().size(), stacks.empty());
  for (uint32_t stack = 0; stack < stacks.size(); ++stack) {
    stacks[stack] = stacks[stack] && !hidden.is_gone(stack);
  }
}

void add_factors(const Snapshot& snapshot, ResolvedSelection& resolved) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  store::AggregateRequest& request = resolved.request;
  Weights weights(snapshot, request.filter, resolved.of_its_draws);
  std::vector<std::vector<double>> values(dictionaries.events.size());  // by event and origin
  std::vector<std::vector<double>> samples(values.size());
  for (uint32_t event = 0; event < values.size(); ++event) {
    if (request.filter[Column::kEvent].selects(event)) {
      values[event].assign(dictionaries.origins.size(), 0);
      samples[event].assign(dictionaries.origins.size(), 1);
    }
  }
  for_each_selected(snapshot, request.filter, [&](const store::OriginEventEntry& entry) {
    values[entry.event][entry.origin] = weights.of(entry) * entry.scale;
    if (entry.hits != 0) {
      samples[entry.event][entry.origin] =
          static_cast<double>(entry.samples) / static_cast<double>(entry.hits);
    }
  });
  request.measures.resize(2);
  request.measures[kValue] = store::factors_of(std::move(values));
  request.measures[kSamples] = store::factors_of(std::move(samples));
}

// Of the parts of draws that a selection stands on, by their numbers.
struct AnsweredPart {
  const statistics::StratumResponse* response;
  DrawnPart part;
};

void note_missing(const Snapshot& snapshot, const std::map<uint32_t, AnsweredPart>& strata,
                  ResolvedSelection& resolved) {
  size_t drawn = 0;
  size_t answered = 0;
  std::set<DrawnPart> parts;
  for (const auto& [stratum, answered_part] : strata) {
    drawn += answered_part.response->drawn;
    answered += answered_part.response->answered;
    parts.insert(answered_part.part);
  }
  if (answered == drawn) {
    return;
  }
  const auto cause = read_commonest_cause(*snapshot.fleet, parts, wall_now_ns());
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
  std::map<uint32_t, AnsweredPart> strata;
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
    // Of machines and their applications, where both are selected, that which fewer answered.
    const AnsweredPart part{&snapshot.response_of(entry.origin), {origin.draw, origin.stratum}};
    const auto [known, is_new] = strata.try_emplace(snapshot.origins.stratum_of(entry.origin), part);
    if (!is_new && part.response->answered < known->second.response->answered) {
      known->second = part;
    }
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

// The origins of the selected time and draws, whatever else is asked for.
std::vector<bool> of_its_draws(const Selection& selection, const Snapshot& snapshot) {
  const auto& origins = snapshot.dictionaries.origins;
  const bool has_orders = wants_orders(selection);
  Flags flags;
  std::vector<bool>& selected = flags[Column::kOrigin];
  selected.assign(origins.size(), false);
  for (size_t id = 1; id < origins.size(); ++id) {
    selected[id] = selection.is_about(snapshot.origins.middle_ns[id]) &&
                   (has_orders || !store::is_by_order(origins[id].draw));
  }
  for (const Predicate& predicate : selection.where) {
    if (is_about_draws(predicate)) {
      apply(predicate, snapshot, flags);
    }
  }
  return std::move(flags[Column::kOrigin]);
}

// Of whatever events.
void select_rows(const Selection& selection, const Snapshot& snapshot, ResolvedSelection& resolved) {
  resolved.of_its_draws = of_its_draws(selection, snapshot);
  Flags flags;
  flags[Column::kOrigin] = resolved.of_its_draws;
  for (const Predicate& predicate : selection.where) {
    apply(predicate, snapshot, flags);
  }
  // What was allocated by nothing but an allocator's frames, as of a stack that was cut, still counts.
  if (const auto hidden = selection.hide.empty() ? nullptr : hidden_frames(selection, snapshot)) {
    leave_out_gone(*hidden, flags[Column::kStack]);
  }
  for (const Column column : store::kColumns) {
    resolved.request.filter[column] = store::IdSet::of_flags(std::move(flags[column]));
  }
  keep_conditions(selection, resolved.request.filter);
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
  std::vector<uint32_t> complete;
  for (const auto& [origin, count] : counted) {
    if (count == wanted.size()) {
      complete.push_back(origin);
    }
  }
  resolved.request.filter[Column::kOrigin] = store::IdSet::of(complete);
  if (complete.size() < counted.size()) {
    resolved.notes.push_back(fmt::format("{} of {} profiles are not used: they lack one of the events",
                                         counted.size() - complete.size(), counted.size()));
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
  Weights weights(snapshot, filter, selection.of_its_draws);
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
  either[Column::kOrigin] = store::union_of(base[Column::kOrigin], other[Column::kOrigin]);
  return either;
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
  select_rows(selection, snapshot, resolved);
  resolved.request.filter[Column::kEvent] = store::IdSet::of({event->id});
  add_factors(snapshot, resolved);
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
  select_rows(selection, snapshot, resolved);
  resolved.request.filter[Column::kEvent] = store::IdSet::of(events);
  require_all(events, snapshot, resolved);
  add_factors(snapshot, resolved);
  add_coverage(selection, snapshot, resolved);
  return resolved;
}

ResolvedSelection resolve_all(const Snapshot& snapshot) {
  ResolvedSelection resolved;
  select_rows({}, snapshot, resolved);
  resolved.request.filter[Column::kEvent] = shown_events(snapshot);
  add_factors(snapshot, resolved);
  add_coverage({}, snapshot, resolved);
  return resolved;
}

}  // namespace plimsoll::query
