#include "formats/event_meaning.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace plimsoll::formats {
namespace {

struct KnownType {
  std::string_view type;
  std::string_view name;
  wire::Kind kind;
  bool is_since_start;
};

constexpr std::string_view kBlocked = "blocked_";  // before a type of waits

constexpr std::array<KnownType, 16> kKnownTypes{{
    {"inuse_space", "heap-inuse-bytes", wire::SNAPSHOT, false},
    {"inuse_objects", "heap-inuse-objects", wire::SNAPSHOT, false},
    {"space", "heap-inuse-bytes", wire::SNAPSHOT, false},
    {"objects", "heap-inuse-objects", wire::SNAPSHOT, false},
    {"alloc_space", "alloc-bytes", wire::DELTA, true},
    {"alloc_objects", "alloc-objects", wire::DELTA, true},
    {"growth_space", "heap-growth-bytes", wire::DELTA, true},
    {"growth_objects", "heap-growths", wire::DELTA, true},
    {"delay", "lock-wait-ns", wire::DELTA, true},
    {"contentions", "lock-contentions", wire::DELTA, true},
    {"blocked_delay", "block-wait-ns", wire::DELTA, true},
    {"blocked_contentions", "block-waits", wire::DELTA, true},
    {"cpu", "app-cpu-ns", wire::DELTA, false},
    {"wall", "wall-ns", wire::DELTA, false},
    {"goroutine", "goroutines", wire::SNAPSHOT, false},
    {"threadcreate", "threads-created", wire::DELTA, true},
}};

struct KnownUnit {
  std::string_view name;
  wire::Unit unit;
  int64_t factor;
};

constexpr std::array<KnownUnit, 9> kKnownUnits{{
    {"count", wire::COUNT, 1},
    {"bytes", wire::BYTES, 1},
    {"kilobytes", wire::BYTES, 1024},
    {"megabytes", wire::BYTES, 1 << 20},
    {"nanoseconds", wire::NANOSECONDS, 1},
    {"microseconds", wire::NANOSECONDS, 1000},
    {"milliseconds", wire::NANOSECONDS, 1'000'000},
    {"seconds", wire::NANOSECONDS, 1'000'000'000},
    {"ns", wire::NANOSECONDS, 1},
}};

// A type is what it is known as only in the unit that it is known in: "space" in "count" is something else.
bool fits(std::string_view name, wire::Unit unit) {
  if (name.ends_with("-bytes")) {
    return unit == wire::BYTES;
  }
  return name.ends_with("-ns") ? unit == wire::NANOSECONDS : unit == wire::COUNT;
}

}  // namespace

EventMeaning meaning_of(const ValueType& type) {
  EventMeaning meaning;
  meaning.name = type.type.empty() ? "samples" : type.type;
  if (const auto* unit = std::ranges::find(kKnownUnits, std::string_view(type.unit), &KnownUnit::name);
      unit != kKnownUnits.end()) {
    meaning.unit = unit->unit;
    meaning.factor = unit->factor;
  }
  const auto* known = std::ranges::find(kKnownTypes, std::string_view(type.type), &KnownType::type);
  // Our own exports have our names. Their counts are of the time that was asked for.
  const bool is_export = known == kKnownTypes.end();
  if (is_export) {
    known = std::ranges::find(kKnownTypes, std::string_view(type.type), &KnownType::name);
  }
  if (known != kKnownTypes.end() && fits(known->name, meaning.unit)) {
    meaning.name = known->name;
    meaning.kind = known->kind;
    meaning.is_since_start = known->is_since_start && !is_export;
  }
  return meaning;
}

void call_waits_blocked(ApplicationProfile& profile) {
  for (ValueType& type : profile.types) {
    if (type.type == "delay" || type.type == "contentions") {
      type.type = std::string(kBlocked) + type.type;
    }
  }
}

}  // namespace plimsoll::formats
