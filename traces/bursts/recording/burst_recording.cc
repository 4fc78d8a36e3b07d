#include "traces/bursts/recording/burst_recording.h"

#include <fmt/format.h>

#include "base/time.h"

namespace plimsoll::traces {

std::string_view name_of(BurstEventKind kind) {
  constexpr std::array<std::string_view, kBurstEventKinds> kNames{
      "switch",     "wake",       "new-thread", "mark-call",   "syscall-enter",   "syscall-exit",
      "page-fault", "disk-issue", "disk-done",  "packet-sent", "packet-received", "sample",
      "rpc-in",     "rpc-out",    "rpc-end",    "annotation",  "named-phase"};
  return kNames[static_cast<size_t>(kind)];
}

std::string name_of_frame(const BurstStacks& stacks, uint32_t frame) {
  const BurstFrame& named = stacks.frames[frame];
  const std::string& path = stacks.binaries[named.binary].path;
  return named.function.empty() ? fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), named.address)
                                : named.function;
}

uint64_t Burst::all_lost() const {
  uint64_t sum = 0;
  for (const uint64_t one : lost) {
    sum += one;
  }
  return sum;
}

bool is_clock_off(const ClockState& clock, const BurstConfig& config) {
  constexpr int64_t kErrorsPerBurst = 20;  // of two machines in opposite directions: a tenth together
  return !clock.is_synchronized || clock.max_error_ns > config.length_ms() * kNsPerMs / kErrorsPerBurst;
}

}  // namespace plimsoll::traces
