// Names of events that profiles and stores of before have under other names.
#pragma once

#include <string>
#include <string_view>

#include "proto/profile.pb.h"

namespace plimsoll::wire {

// What an event of a raw profile is called in new rows: "alloc-bytes" of "heap-alloc-bytes", and "alloc-bytes^2" of its squares;
// `name` where it was not renamed, or is of another unit than the event that was.
std::string current_event_name(std::string_view name, Unit unit);

struct OtherEventName {
  std::string_view name;         // empty: the event has always been called so
  Unit unit = UNIT_UNSPECIFIED;  // of an event in another unit, neither name is the other's
};
// The former name of an event that has this name now, or the other way round.
OtherEventName other_event_name(std::string_view name);

// What an event is called that has the name, but not the meaning, of one that was renamed: "own-wall", "own-wall^2".
std::string own_event_name(std::string_view name);

}  // namespace plimsoll::wire
