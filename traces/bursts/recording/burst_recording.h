// What one machine recorded in some bursts: kernel events in the order of time. docs/bursts.md has their meaning.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/bursts/burst_config.h"

namespace plimsoll::traces {

enum class BurstEventKind : uint8_t {
  kSwitch =
      0,  // `thread` stops to run on this CPU and `other` begins to; first: the state it is left in (0: preempted)
  kWake,  // `thread` wakes `other`, which may run from here on; first: 1 where an interrupt does, on whichever thread
  kNewThread,     // the same for a thread that runs for the first time
  kMarkCall,      // getpid() with the arguments of a mark: first, second
  kSyscallEnter,  // first: its number
  kSyscallExit,   // first: its number
  kPageFault,     // in user mode
  // A request of a disk is given to its driver by `thread`; first: bytes, second: a number of its device and sector, which its end has too.
  kDiskIssue,
  kDiskDone,        // it is done, in an interrupt that came upon `thread`
  kPacketSent,      // first: bytes
  kPacketReceived,  // likewise, in an interrupt that came upon `thread`
};
inline constexpr size_t kBurstEventKinds = 11;
std::string_view name_of(BurstEventKind kind);

struct BurstEvent {
  int64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint64_t first = 0;
  uint64_t second = 0;
  uint32_t thread = 0;  // index of BurstRecording::threads
  uint32_t other = 0;   // likewise, of kSwitch, kWake and kNewThread
  uint16_t cpu = 0;
  BurstEventKind kind = BurstEventKind::kSwitch;
  bool operator==(const BurstEvent&) const = default;
};

// IDs in the initial namespace. Each CPU's idle thread is thread 0.
struct BurstThread {
  uint32_t tid = 0;
  uint32_t pid = 0;  // 0: unknown
  std::string name;  // empty: unknown
  bool operator==(const BurstThread&) const = default;
};

struct Burst {
  BurstTimes planned;
  // CLOCK_MONOTONIC: recorded on all CPUs from `on_ns` to `off_ns`; on some a little longer.
  int64_t on_ns = 0;
  int64_t off_ns = 0;
  // CLOCK_REALTIME - CLOCK_MONOTONIC at both ends: differ where the clock was set meanwhile.
  int64_t wall_offset_on_ns = 0;
  int64_t wall_offset_off_ns = 0;
  // Counted by the kernel, for want of room in the rings; of all kinds together: `unread`, bytes that could not be decoded.
  std::array<uint64_t, kBurstEventKinds> lost{};
  uint64_t unread_bytes = 0;
  std::vector<BurstEvent> events;
  bool operator==(const Burst&) const = default;

  uint64_t all_lost() const;
};

// As the kernel estimates it (adjtimex(2)).
struct ClockState {
  bool is_synchronized = false;
  int64_t max_error_ns = 0;
  int64_t estimated_error_ns = 0;
  bool operator==(const ClockState&) const = default;
};

struct BurstRecording {
  std::string machine;
  std::string draw = {};  // that assigned it; empty: none did
  uint64_t config_bits = 0;
  uint32_t cpus = 0;
  ClockState clock;
  std::vector<std::string> notes;  // what could not be recorded, and why
  std::vector<BurstThread> threads;
  std::vector<Burst> bursts;
  bool operator==(const BurstRecording&) const = default;
};

// Whether other machines' bursts may differ from these by more than a tenth of a burst.
bool is_clock_off(const ClockState& clock, const BurstConfig& config);

}  // namespace plimsoll::traces
