// Lock contention profiles, as text: gperftools' successors ("--- contentionz 1 ---") and old Go programs ("--- mutex:",
// "--- contention:"):
//
//   --- contentionz 1 ---
//   cycles/second = 3201000000
//   sampling period = 100
//   ms since reset = 16502830
//   discarded samples = 0
//     19490304  27 @ 0x401136 0x401170
//   --- Memory map: ---
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/application_profile.h"
#include "formats/legacy_rows.h"

namespace plimsoll::formats {

bool looks_like_legacy_contention(std::string_view text);

// Types: contentions (count) and delay (nanoseconds), multiplied by the sampling period. Without "cycles/second" delays
// stay as they are. The duration is the time since the last reset.
Result<ApplicationProfile> read_legacy_contention(std::string_view text, const Limits& limits = {},
                                                  AddressKind address_kind = AddressKind::kReturns);

}  // namespace plimsoll::formats
