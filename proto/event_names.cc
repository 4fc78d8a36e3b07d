#include "proto/event_names.h"

#include <algorithm>
#include <array>

#include "proto/squares.h"

namespace plimsoll::wire {
namespace {

struct RenamedEvent {
  std::string_view former;
  std::string_view current;
  Unit unit;  // "cpu" in another unit is a program's own
};

constexpr std::array<RenamedEvent, 4> kRenamedEvents{{
    {"heap-alloc-bytes", "alloc-bytes", BYTES},
    {"heap-alloc-objects", "alloc-objects", COUNT},
    {"cpu", "app-cpu-ns", NANOSECONDS},
    {"wall", "wall-ns", NANOSECONDS},
}};

}  // namespace

std::string current_event_name(std::string_view name, Unit unit) {
  const std::string_view squared = squared_event(name);
  const std::string_view plain = squared.empty() ? name : squared;
  const auto* found = std::ranges::find(kRenamedEvents, plain, &RenamedEvent::former);
  if (found == kRenamedEvents.end() || found->unit != unit) {
    return std::string(name);
  }
  return std::string(found->current) + (squared.empty() ? "" : std::string(kSquaresSuffix));
}

OtherEventName other_event_name(std::string_view name) {
  for (const RenamedEvent& event : kRenamedEvents) {
    if (name == event.current || name == event.former) {
      return {name == event.current ? event.former : event.current, event.unit};
    }
  }
  return {};
}

std::string own_event_name(std::string_view name) {
  return "own-" + std::string(name);
}

}  // namespace plimsoll::wire
