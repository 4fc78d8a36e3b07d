// Names of the events that bursts can have beside switches, wake-ups and marks: in configurations, assignments and on the command line.
// Pure; any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::traces {

inline constexpr std::string_view kSystemCalls = "system-calls";
inline constexpr std::string_view kPageFaults = "page-faults";
inline constexpr std::string_view kDisk = "disk";
inline constexpr std::string_view kNetwork = "network";
inline constexpr std::string_view kSamples = "samples";
inline constexpr std::string_view kApplications = "applications";
inline constexpr std::array kBurstEventNames{kSystemCalls, kPageFaults, kDisk,
                                             kNetwork,     kSamples,    kApplications};

// kInvalid names the first that is none of them.
Status check_burst_events(std::span<const std::string> names);

}  // namespace plimsoll::traces
