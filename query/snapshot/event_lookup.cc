#include "query/snapshot/event_lookup.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "proto/profile_codec.h"

namespace plimsoll::query {
namespace {

// Pairs of branch records are no stacks: they are shown to those who ask for them, or where there is nothing else.
uint32_t first_of_samples(const std::vector<store::EventEntry>& events) {
  const auto found = std::find_if(events.begin() + 1, events.end(), [](const store::EventEntry& event) {
    return event.name != wire::kBranchRecords && event.name != wire::kBranchMispredictions;
  });
  return found == events.end() ? 1 : static_cast<uint32_t>(found - events.begin());
}

// "cycles" of "cycles:pp": an event of a recording without perf's modifiers.
std::string_view without_modifiers(std::string_view name) {
  constexpr std::string_view kModifiers = "ukhGHIpPSDWeb";
  const size_t colon = name.rfind(':');
  const bool has_modifiers = colon != std::string_view::npos && colon + 1 < name.size() &&
                             name.find_first_not_of(kModifiers, colon + 1) == std::string_view::npos;
  return has_modifiers ? name.substr(0, colon) : name;
}

// The event of exactly that name, else the only one whose name is that with modifiers; 0 where there is none.
uint32_t event_id(std::string_view wanted, const std::vector<store::EventEntry>& events) {
  uint32_t modified = 0;
  size_t modified_count = 0;
  for (uint32_t id = 1; id < events.size(); ++id) {
    if (events[id].name == wanted) {
      return id;
    }
    if (without_modifiers(events[id].name) == wanted) {
      modified = id;
      ++modified_count;
    }
  }
  return modified_count == 1 ? modified : 0;
}

}  // namespace

Result<uint32_t> find_event(const std::string& name, const Snapshot& snapshot) {
  const auto& events = snapshot.dictionaries.events;
  const auto id_of = [&](std::string_view wanted) { return event_id(wanted, events); };
  if (events.size() <= 1) {
    return with_hint(fail(ErrorCode::kNotFound, "there are no profiles yet"),
                     "import some (plimsoll import), or let a daemon send them (plimsolld --server)");
  }
  if (name.empty()) {
    for (const char* preferred : {"cycles", "cpu-clock"}) {
      if (const uint32_t id = id_of(preferred); id != 0) {
        return id;
      }
    }
    return first_of_samples(events);
  }
  if (const uint32_t id = id_of(name); id != 0) {
    return id;
  }
  std::vector<std::string_view> names;
  for (size_t id = 1; id < events.size(); ++id) {
    names.push_back(events[id].name);
  }
  return with_hint(
      with_field(fail(ErrorCode::kNotFound, "there are no samples of event \"{}\"", name), "event"),
      fmt::format("there are samples of {}", fmt::join(names, ", ")));
}

}  // namespace plimsoll::query
