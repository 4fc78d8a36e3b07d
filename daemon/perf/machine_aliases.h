// One name for what processors count under different codes.
//
// Only such names are here as mean the same on each machine that has them, and only codes that the vendor documents for the
// generation; where a generation is not listed the event is missing there, never guessed. Each row names its source: the
// files of Linux's tools/perf/pmu-events/arch (Intel's and AMD's published event lists), and for Arm the events of
// drivers/perf/arm_pmuv3.c, which sysfs lists only where the processor says that it implements them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace plimsoll::perf {

// Each alias once.
std::span<const std::string_view> alias_names();
bool is_alias(std::string_view name);

// The terms ("event=0xc2,umask=0x2") of the alias on a core PMU of that name in a machine of that generation
// (platform::generation_of); empty where the table does not have it.
std::string_view alias_terms(std::string_view alias, std::string_view generation, std::string_view pmu);

}  // namespace plimsoll::perf
