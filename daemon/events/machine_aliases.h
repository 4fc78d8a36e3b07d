// One name for what processors count under different codes.
//
// Only codes that the vendor documents for the generation are here; where a generation is not listed the event is missing
// there, never guessed. Vendors do not count quite the same thing, so each code has the vendor's own definition, which goes
// into the note of a profile's event: compare generations by an alias only where the definitions agree. Each row names its
// source: the files of Linux's tools/perf/pmu-events/arch (Intel's and AMD's published event lists; docs/events.md says how to
// look a generation up), and for Arm the events of drivers/perf/arm_pmuv3.c, which sysfs lists only where the processor says
// that it implements them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace plimsoll::perf {

// Each alias once.
std::span<const std::string_view> alias_names();
bool is_alias(std::string_view name);

struct AliasCode {
  std::string_view terms;       // "event=0xc2,umask=0x2"
  std::string_view definition;  // the vendor's name for it, and what it leaves out or includes
};

// Of the alias on a core PMU of that name in a machine of that generation (platform::generation_of); null where the table does
// not have it.
const AliasCode* alias_code(std::string_view alias, std::string_view generation, std::string_view pmu);

}  // namespace plimsoll::perf
