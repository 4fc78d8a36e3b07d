#include "traces/bursts/burst_events.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace plimsoll::traces {

Status check_burst_events(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kBurstEventNames, name) == kBurstEventNames.end()) {
      return with_hint(fail(ErrorCode::kInvalid, "bursts have no event \"{}\"", name),
                       fmt::format("known are {}", fmt::join(kBurstEventNames, ", ")));
    }
  }
  return {};
}

}  // namespace plimsoll::traces
