// The parts of bursts_bench.
#pragma once

#include <string_view>

#include "bench/harness/program.h"

namespace plimsoll::bench {

// False: this user or kernel has no tracepoints, and the report says that the part is skipped.
bool can_record_bursts(std::string_view part, Report& report);

Status measure_between(const Flags& flags, Report& report);
Status measure_day(const Flags& flags, Report& report);
Status measure_marks(const Flags& flags, Report& report);
Status measure_recording(const Flags& flags, Report& report);
Status measure_search(const Flags& flags, Report& report);
Status measure_server(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
