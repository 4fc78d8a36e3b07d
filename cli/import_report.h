// What `plimsoll import` says of each file that it took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/perf_data/event_tally.h"
#include "proto/profile.pb.h"

namespace plimsoll::cli {

// What became of one event of a file.
using EventReport = perf_data::EventTally::Summary;

// Of any raw profile.
std::vector<EventReport> event_reports(const wire::RawProfile& profile);

// "300 MB of heap-inuse-bytes in 570 samples, ..."
std::string summary_line(const std::vector<EventReport>& events);

// A line for each event: {"file", "event", "samples", "lost", "hits", "value", "unit"}, where unit is "count", "ns" or
// "bytes".
std::string json_lines(const std::string& file, const std::vector<EventReport>& events);

}  // namespace plimsoll::cli
