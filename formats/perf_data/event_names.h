// What events are called, and what they count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/perf_data/metadata.h"
#include "proto/profile.pb.h"

namespace plimsoll::perf_data {

// Gives each event its name: as described, else as the file lists it by number, else from its type, configuration and
// modifiers, as perf writes them.
void name_events(Metadata& metadata);

// "counted together: {cycles,instructions}", after name_events(): at most 32, of about 1 KiB each. Groups of events that there
// are not, or that are in another group, are only counted.
std::vector<std::string> group_notes(const Metadata& metadata);

// Clocks count nanoseconds.
wire::Unit unit_of(const perf_event_attr& attr);

}  // namespace plimsoll::perf_data
