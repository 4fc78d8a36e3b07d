// Two events over each other: IPC is instructions over cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// IDs of dictionary entries.
struct EventPair {
  uint32_t numerator = 0;
  uint32_t denominator = 0;
  std::vector<std::string> notes = {};  // where a name may mean several events

  // The groups that an AggregateRequest is to sum them by. An event over itself is both.
  static constexpr uint32_t kNumeratorGroup = 0;
  uint32_t denominator_group() const { return numerator == denominator ? kNumeratorGroup : 1; }
  size_t groups() const { return denominator_group() + 1; }
  std::vector<uint32_t> groups_of(size_t events) const;
  // The events by group.
  std::vector<uint32_t> distinct() const;
};

// Ratios that have names: "ipc", "wait-per-contention" and others.
struct NamedRatio {
  std::string_view name;
  std::string_view ratio;  // "instructions/cycles"
};
std::span<const NamedRatio> named_ratios();

// "NUMERATOR/DENOMINATOR" of itself, or of a named ratio; kInvalid for other texts. Whether the events exist is seen when they are looked
// up: their names may contain slashes.
Result<std::string> parse_ratio(std::string_view text);

// kInvalid, with the field "ratio", where more of it is worse, as of "cycles/instructions". Of a text that parse_ratio() gave.
Status check_more_is_better(std::string_view ratio);

// What a ratio's values are in: "bytes" per object, "ns" per contention; where the denominator does not count things, "cycles/instructions".
std::string ratio_unit(const store::EventEntry& numerator, const store::EventEntry& denominator);

// Of a text that parse_ratio() gave. kNotFound, with the field "ratio", where the snapshot lacks an event.
Result<EventPair> find_pair(std::string_view ratio, const Snapshot& snapshot);

}  // namespace plimsoll::query
