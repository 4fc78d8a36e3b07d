// What events are called, and what they count.
#pragma once

#include <string>
#include <string_view>

#include "formats/perf_data/metadata.h"
#include "proto/profile.pb.h"

namespace plimsoll::perf_data {

// Gives each event its name: as described, else as the file lists it by number, else from its type, configuration and
// modifiers, as perf writes them.
void name_events(Metadata& metadata);

// "{cycles,instructions}", after name_events().
std::string text_of(const RecordedGroup& group, const Metadata& metadata);

// Clocks count nanoseconds.
wire::Unit unit_of(const perf_event_attr& attr);

}  // namespace plimsoll::perf_data
