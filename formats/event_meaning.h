// What the types of an application's values are called here, and how they add up.
#pragma once

#include <cstdint>
#include <string>

#include "formats/application_profile.h"
#include "proto/profile.pb.h"

namespace plimsoll::formats {

struct EventMeaning {
  std::string name;  // "heap-inuse-bytes"; a type that is not known keeps its own name
  wire::Unit unit = wire::COUNT;
  wire::Kind kind = wire::DELTA;
  // The application counts since its start or since a reset: a reader that comes again takes the difference. A file
  // counts as it is: all of it happened once.
  bool is_since_start = false;
  int64_t factor = 1;  // from the type's unit to ours
};

EventMeaning meaning_of(const ValueType& type);

// Go's profile of what goroutines were blocked by has the types of that of locks, and is about more: its waits become
// events of their own, "block-waits" and "block-wait-ns", so that the two are never added up.
void call_waits_blocked(ApplicationProfile& profile);

}  // namespace plimsoll::formats
