// Names of events that profiles and stores of before have under other names.
#pragma once

#include <string>
#include <string_view>

#include "proto/profile.pb.h"

namespace plimsoll::wire {

// What an event of a raw profile is called in new rows: "alloc-bytes" of "heap-alloc-bytes", and "alloc-bytes^2" of its squares;
// `name` where it was not renamed, or is of another unit than the event that was.
std::string current_event_name(std::string_view name, Unit unit);

// What rows of before call an event that has this name now, or the other way round; empty: it has always been called so.
std::string_view other_event_name(std::string_view name);

}  // namespace plimsoll::wire
