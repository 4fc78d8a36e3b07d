#include "store/rollup/hours.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "proto/squares.h"
#include "store/rollup/scale/common_scale.h"

namespace plimsoll::store {
namespace {

// Of several profiles, different ones; each a line.
constexpr size_t kMaxNotes = 3;

template <typename Value>
void append_bytes(const Value& value, std::string& key) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(const std::string& text, std::string& key) {
  append_bytes(text.size(), key);
  key += text;
}

int64_t hour_of(const OriginEntry& origin) {
  const int64_t middle_ns = std::midpoint(origin.from_ns, origin.to_ns);
  return middle_ns / kNsPerHour - (middle_ns % kNsPerHour < 0 ? 1 : 0);
}

// Equal where profiles weigh the same.
std::string key_of(const OriginRow& profile, size_t place) {
  const OriginEntry& origin = profile.entry;
  std::string key;
  append_bytes(origin.machine, key);
  append_bytes(hour_of(origin), key);
  append_bytes(origin.inclusion_probability, key);
  append_bytes(origin.interval_ns, key);
  append_text(origin.draw, key);
  append_text(origin.stratum, key);
  append_text(origin.series, key);
  for (const EventRecord& event : profile.events) {
    append_bytes(event.event, key);
    append_bytes(event.ran(), key);
  }
  // An interval without a draw is of the one profile.
  if (origin.draw.empty() && origin.interval_ns != 0) {
    append_bytes(place, key);
  }
  return key;
}

void add_note(const std::string& note, std::string& notes) {
  const auto lines = static_cast<size_t>(std::ranges::count(notes, '\n')) + 1;
  const bool is_there = ("\n" + notes + "\n").find("\n" + note + "\n") != std::string::npos;
  if (note.empty() || is_there || lines == kMaxNotes) {
    return;
  }
  notes += (notes.empty() ? "" : "\n") + note;
}

// Beyond, a sum of doubles could not tell all hits apart, and answers are such sums.
constexpr uint64_t kMaxHits = uint64_t{1} << 53;

int64_t length_ns(const OriginEntry& origin) {
  return origin.to_ns - origin.from_ns;
}

// (sum w)^2 / sum w^2, where the samples of each profile stand for as much each (L. Kish, Survey Sampling, 1965, 11.7).
double effective_samples(const std::vector<const EventRecord*>& parts, uint64_t samples) {
  double sum = 0;
  double squares = 0;
  for (const EventRecord* part : parts) {
    if (part->hits > 0 && part->samples > 0) {
      const double value = part->scale * static_cast<double>(part->hits);
      sum += value;
      squares += value * value / static_cast<double>(part->samples);
    }
  }
  const auto all = static_cast<double>(samples);
  constexpr double kRounding = 1e-12;
  return squares > 0 && sum * sum < all * squares * (1 - kRounding) ? sum * sum / squares : all;
}

}  // namespace

Result<std::vector<OriginRow>> read_origins(sqlite::Database& catalogue) {
  std::vector<OriginRow> origins(1);
  Status read = sqlite::for_each_row(
      catalogue.query("SELECT id, profile_id, archive_sequence, machine, from_ns, to_ns, draw, "
                      "inclusion_probability, interval_ns, series, stratum FROM origin ORDER BY id"),
      [&](const sqlite::Statement& row) -> Status {
        if (row.integer(0) != static_cast<int64_t>(origins.size())) {
          return fail(ErrorCode::kCorrupt, "{}: the table origin has no entry {}", catalogue.path(),
                      origins.size());
        }
        origins.push_back({{.id = row.blob(1), .sequence = row.integer(2)},
                           {.machine = static_cast<uint32_t>(row.integer(3)),
                            .from_ns = row.integer(4),
                            .to_ns = row.integer(5),
                            .draw = std::string(row.text(6)),
                            .inclusion_probability = row.real(7),
                            .interval_ns = row.integer(8),
                            .series = std::string(row.text(9)),
                            .stratum = std::string(row.text(10))}});
        return {};
      });
  read = read ? sqlite::for_each_row(
                    catalogue.query("SELECT origin, event, scale, hits, lost, throttles, counter_total, "
                                    "time_enabled_ns, time_running_ns, note, samples FROM origin_event ORDER "
                                    "BY origin, event"),
                    [&](const sqlite::Statement& row) -> Status {
                      const auto origin = static_cast<size_t>(row.integer(0));
                      if (origin == 0 || origin >= origins.size()) {
                        return fail(ErrorCode::kCorrupt, "{}: an event is of origin {}, which is not there",
                                    catalogue.path(), origin);
                      }
                      origins[origin].events.push_back({.event = static_cast<uint32_t>(row.integer(1)),
                                                        .scale = row.real(2),
                                                        .hits = static_cast<uint64_t>(row.integer(3)),
                                                        .lost = static_cast<uint64_t>(row.integer(4)),
                                                        .throttles = static_cast<uint64_t>(row.integer(5)),
                                                        .counter_total = row.real(6),
                                                        .time_enabled_ns = row.integer(7),
                                                        .time_running_ns = row.integer(8),
                                                        .note = std::string(row.text(9)),
                                                        .samples = static_cast<uint64_t>(row.integer(10))});
                      return {};
                    })
              : read;
  return read ? Result<std::vector<OriginRow>>(std::move(origins))
              : propagate(read, "reading the profiles of a block");
}

Hours::Hours(const std::vector<OriginRow>& profiles, const AppendOnlyList<EventEntry>& events)
    : base_of_squares_(events.size()), origin_of_(profiles.size()), multipliers_(profiles.size()) {
  for (uint32_t squares = 1; squares < events.size(); ++squares) {
    const std::string_view name =
        events[squares].is_shown() ? std::string_view() : wire::squared_event(events[squares].name);
    for (uint32_t event = 1; event < events.size() && !name.empty(); ++event) {
      if (events[event].is_shown() && events[event].name == name) {
        base_of_squares_[squares] = event;
      }
    }
  }
  std::unordered_map<std::string, size_t> groups;
  std::vector<std::vector<uint32_t>> members;
  for (uint32_t profile = 1; profile < profiles.size(); ++profile) {
    const size_t group = groups.try_emplace(key_of(profiles[profile], profile), members.size()).first->second;
    members.resize(std::max(members.size(), group + 1));
    members[group].push_back(profile);
  }
  for (const std::vector<uint32_t>& group : members) {
    if (!merge(group, profiles)) {
      for (const uint32_t member : group) {
        merge({member}, profiles);
      }
    }
  }
  sort_by_sequence();
}

// False: the hits of one of its events have no common scale.
bool Hours::merge(const std::vector<uint32_t>& members, const std::vector<OriginRow>& profiles) {
  OriginRow hour = profiles[members.front()];
  hour.entry.is_rolled_up = true;
  for (const uint32_t member : members) {
    const OriginRow& profile = profiles[member];
    hour.entry.from_ns = std::min(hour.entry.from_ns, profile.entry.from_ns);
    hour.entry.to_ns = std::max(hour.entry.to_ns, profile.entry.to_ns);
    if (profile.sequence > hour.sequence) {
      hour.sequence = profile.sequence;
      hour.id = profile.id;
    }
  }
  std::vector<std::vector<uint32_t>> multipliers(hour.events.size());
  // Squares need the scale that their event comes to.
  for (const bool of_squares : {false, true}) {
    for (size_t place = 0; place < hour.events.size(); ++place) {
      const bool is_squares = base_of_squares_[hour.events[place].event] != 0;
      if (is_squares == of_squares && !merge_event(place, members, profiles, hour, multipliers[place])) {
        return false;
      }
    }
  }
  for (size_t i = 0; i < members.size(); ++i) {
    origin_of_[members[i]] = static_cast<uint32_t>(origins_.size());
    for (size_t place = 0; place < hour.events.size(); ++place) {
      if (multipliers[place][i] != 1) {
        multipliers_[members[i]].push_back({hour.events[place].event, multipliers[place][i]});
      }
    }
  }
  origins_.push_back(std::move(hour));
  return true;
}

bool Hours::merge_event(size_t place, const std::vector<uint32_t>& members,
                        const std::vector<OriginRow>& profiles, OriginRow& hour,
                        std::vector<uint32_t>& multipliers) const {
  EventRecord sum{.event = hour.events[place].event, .profiles = members.size()};
  const uint32_t base = base_of_squares_[sum.event];
  const auto base_place =
      static_cast<size_t>(std::ranges::find(hour.events, base, &EventRecord::event) - hour.events.begin());
  const bool has_base = base != 0 && base_place < hour.events.size();
  std::vector<const EventRecord*> parts;
  std::vector<ScaledHits> scaled;
  bool is_alike = true;
  for (const uint32_t member : members) {
    const EventRecord& part = profiles[member].events[place];
    const EventRecord* of = has_base ? &profiles[member].events[base_place] : nullptr;
    parts.push_back(&part);
    // A weight is squared with the scale of the event that the squares are of (query/selection/squares.h).
    scaled.push_back({has_base ? part.scale * of->scale * of->scale : part.scale, part.hits});
    is_alike = is_alike && part.scale == hour.events[place].scale &&
               (!has_base || of->scale == profiles[members.front()].events[base_place].scale);
    const bool overflows =
        __builtin_add_overflow(sum.lost, part.lost, &sum.lost) ||
        __builtin_add_overflow(sum.throttles, part.throttles, &sum.throttles) ||
        __builtin_add_overflow(sum.time_enabled_ns, part.time_enabled_ns, &sum.time_enabled_ns) ||
        __builtin_add_overflow(sum.time_running_ns, part.time_running_ns, &sum.time_running_ns) ||
        __builtin_add_overflow(sum.samples, part.samples, &sum.samples);
    if (overflows) {
      return false;
    }
    sum.counter_total += part.counter_total;
    sum.observed_ns += part.ran() ? length_ns(profiles[member].entry) : 0;
    add_note(part.note, sum.note);
  }
  if (members.size() == 1 || is_alike) {
    sum.scale = hour.events[place].scale;
    for (const EventRecord* part : parts) {
      sum.hits += part->hits;
      if (members.size() > 1 && sum.hits > kMaxHits) {
        return false;
      }
    }
    multipliers.assign(members.size(), 1);
  } else {
    auto common = common_scale(scaled);
    if (!common) {
      return false;
    }
    const double of_base = has_base ? hour.events[base_place].scale : 1;
    sum.scale = common->hits == 0 || of_base == 0 ? 0 : common->scale / of_base / of_base;
    sum.hits = common->hits;
    multipliers = std::move(common->multipliers);
  }
  sum.effective_samples = effective_samples(parts, sum.samples);
  hour.events[place] = std::move(sum);
  return true;
}

void Hours::sort_by_sequence() {
  std::vector<uint32_t> order(origins_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [this](uint32_t origin) { return origins_[origin].sequence; });
  std::vector<uint32_t> place(order.size());
  std::vector<OriginRow> sorted(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted[i] = std::move(origins_[order[i]]);
  }
  origins_ = std::move(sorted);
  for (uint32_t& origin : origin_of_) {
    origin = place[origin];
  }
}

uint64_t Hours::multiplier(uint32_t profile, uint32_t event) const {
  for (const Multiplier& multiplied : multipliers_[profile]) {
    if (multiplied.event == event) {
      return multiplied.multiplier;
    }
  }
  return 1;
}

}  // namespace plimsoll::store
