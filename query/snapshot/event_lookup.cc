#include "query/snapshot/event_lookup.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <string_view>
#include <vector>

#include "proto/event_names.h"
#include "proto/profile_codec.h"

namespace plimsoll::query {
namespace {

// An event's name as perf writes it: "cycles", "cycles:pp", "cpu_atom/cycles/P".
struct NameParts {
  std::string_view cores;  // the kind of cores that count it; empty: all
  std::string_view plain;
  std::string_view modifiers;
};

bool are_modifiers(std::string_view text) {
  return text.find_first_not_of("ukhGHIpPSDWeb") == std::string_view::npos;
}

// PMUs of cores, not of what cores share: x86 calls them cpu, or cpu_core and cpu_atom, arm64 by their cores.
bool is_of_cores(std::string_view pmu) {
  return pmu == "cpu" || pmu.starts_with("cpu_") || pmu.starts_with("armv");
}

NameParts parts_of(std::string_view name) {
  const size_t first = name.find('/');
  const size_t last = name.rfind('/');
  if (first != last && is_of_cores(name.substr(0, first)) && are_modifiers(name.substr(last + 1))) {
    return {name.substr(0, first), name.substr(first + 1, last - first - 1), name.substr(last + 1)};
  }
  const size_t colon = name.rfind(':');
  const bool has_modifiers =
      colon != std::string_view::npos && colon + 1 < name.size() && are_modifiers(name.substr(colon + 1));
  return has_modifiers ? NameParts{{}, name.substr(0, colon), name.substr(colon + 1)}
                       : NameParts{{}, name, {}};
}

class Lookup {
 public:
  explicit Lookup(const Snapshot& snapshot)
      : dictionaries_(snapshot.dictionaries), events_(dictionaries_.events) {}

  // ID 0: there is none.
  FoundEvent called(std::string_view wanted) {
    std::vector<uint32_t> found;
    for (uint32_t id = 1; id < events_.size(); ++id) {
      if (!events_[id].is_shown()) {
        continue;
      }
      if (events_[id].name == wanted) {
        return {id, {}};
      }
      if (parts_of(events_[id].name).plain == wanted) {
        found.push_back(id);
      }
    }
    if (found.empty()) {
      return {};
    }
    // Others count other things: ":u" what runs in user mode.
    const bool differ_in_cores = std::ranges::all_of(found, [&](uint32_t id) {
      const NameParts parts = parts_of(events_[id].name);
      return !parts.cores.empty() && parts.modifiers == parts_of(events_[found.front()].name).modifiers;
    });
    return found.size() == 1 || differ_in_cores ? with_most_samples(found) : FoundEvent();
  }

  // Of exactly that name and unit; ID 0: there is none.
  uint32_t exactly(const wire::OtherEventName& wanted) const {
    for (uint32_t id = 1; id < events_.size(); ++id) {
      if (events_[id].is_shown() && events_[id].name == wanted.name && events_[id].unit == wanted.unit) {
        return id;
      }
    }
    return 0;
  }

  // Whether it has this unit, and no samples. Costs a pass over the profiles' events.
  bool is_unused(uint32_t id, wire::Unit unit) {
    count_samples();
    return events_[id].unit == unit && samples_[id] == 0;
  }

  FoundEvent usual() {
    for (const char* preferred : {"cycles", "cpu-clock"}) {
      if (FoundEvent found = called(preferred); found.id != 0) {
        return found;
      }
    }
    // Pairs of branch records are no stacks: they are shown to those who ask for them, or where there is nothing else.
    std::vector<uint32_t> of_samples;
    for (uint32_t id = 1; id < events_.size(); ++id) {
      const std::string& name = events_[id].name;
      if (events_[id].is_shown() && !wire::is_of_branches(name)) {
        of_samples.push_back(id);
      }
    }
    return with_most_samples(of_samples.empty() ? std::vector<uint32_t>{1} : of_samples);
  }

  std::string names() const {
    std::vector<std::string_view> names;
    for (const store::EventEntry& event : events_ | std::views::drop(1)) {
      if (event.is_shown()) {
        names.emplace_back(event.name);
      }
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

 private:
  // The first, of several with as many.
  FoundEvent with_most_samples(const std::vector<uint32_t>& ids) {
    if (ids.size() == 1) {
      return {ids.front(), {}};
    }
    count_samples();
    const uint32_t found = *std::ranges::max_element(ids, {}, [&](uint32_t id) { return samples_[id]; });
    std::vector<std::string> others;
    for (const uint32_t id : ids) {
      if (id != found) {
        others.push_back(fmt::format("{} ({} samples)", events_[id].name, samples_[id]));
      }
    }
    constexpr size_t kShown = 5;
    const size_t more = others.size() - std::min(others.size(), kShown);
    others.resize(others.size() - more);
    return {found,
            fmt::format("{} has the most samples; other events: {}{}", events_[found].name,
                        fmt::join(others, ", "), more > 0 ? fmt::format(" and {} more events", more) : "")};
  }

  void count_samples() {
    samples_.assign(events_.size(), 0);
    for (const store::OriginEventEntry& entry : dictionaries_.origin_events) {
      samples_[entry.event] += entry.samples;
    }
  }

  const store::Dictionaries& dictionaries_;
  const AppendOnlyList<store::EventEntry>& events_;
  std::vector<uint64_t> samples_;  // by event
};

}  // namespace

Result<FoundEvent> find_event(const std::string& name, const Snapshot& snapshot) {
  if (snapshot.dictionaries.events.size() <= 1) {
    return with_hint(fail(ErrorCode::kNotFound, "no profiles yet"),
                     "import profiles (plimsoll import), or run a daemon (plimsolld --server)");
  }
  Lookup lookup(snapshot);
  FoundEvent found = name.empty() ? lookup.usual() : lookup.called(name);
  // Rows of before have the current name here (store/joined/dictionary_union.h); a block may know the former one without rows.
  const wire::OtherEventName other = wire::other_event_name(name);
  if (!other.name.empty() && (found.id == 0 || lookup.is_unused(found.id, other.unit))) {
    if (const uint32_t renamed = lookup.exactly(other);
        renamed != 0 && (found.id == 0 || !lookup.is_unused(renamed, other.unit))) {
      found = {renamed, fmt::format("{} is called {} in these rows", name, other.name)};
    }
  }
  if (found.id == 0) {
    return with_hint(with_field(fail(ErrorCode::kNotFound, "no samples of event \"{}\"", name), "event"),
                     "events with samples: " + lookup.names());
  }
  return found;
}

}  // namespace plimsoll::query
