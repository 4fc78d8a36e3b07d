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
  kSample,          // `thread` was on this CPU; first: its stack (BurstStacks)
  // What an application tells of `thread`; first: bytes, or its number; second: index of BurstRecording::details. No CPU.
  kRpcIn,   // a request of a peer has come
  kRpcOut,  // one is sent to a peer
  kRpcEnd,  // the answer of either is sent, or has come
  kAnnotation,
  kNamedPhase,
};
inline constexpr size_t kBurstEventKinds = 17;
constexpr bool is_of_application(BurstEventKind kind) {
  return BurstEventKind::kRpcIn <= kind && kind <= BurstEventKind::kNamedPhase;
}
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

// A file with code, or a part of the kernel.
struct BurstBinary {
  std::string path;  // "[kernel]", or the name of a module; "[unknown]" of code in no file
  std::string
      build_id;  // bytes; of a file without one the hash of its content, as profiles have it; empty: unknown
  bool operator==(const BurstBinary&) const = default;
};

enum class BurstAddressKind : uint8_t {
  kElf = 0,     // as the file's program headers have it
  kFileOffset,  // those were out of reach
  kKernel,      // from where the kernel or the module begins
};
inline constexpr size_t kBurstAddressKinds = 3;

// A place in code. Of calls it lies within the calling instruction.
struct BurstFrame {
  uint64_t address = 0;
  uint32_t binary = 0;  // index of BurstStacks::binaries
  BurstAddressKind kind = BurstAddressKind::kElf;
  std::string function;  // empty: unknown; of the kernel known to the machine that recorded
  bool operator==(const BurstFrame&) const = default;
};

// A frame, and the stack of its callers.
struct BurstStackNode {
  uint32_t frame = 0;   // index of BurstStacks::frames
  uint32_t caller = 0;  // a stack
  bool operator==(const BurstStackNode&) const = default;
};

// Frames of a stack.
inline constexpr size_t kMaxBurstStackDepth = 1024;

// The stacks of samples, as a tree. Stack 0 is empty; stack n is nodes[n - 1] and its callers, which are lower numbers.
struct BurstStacks {
  std::vector<BurstBinary> binaries;
  std::vector<BurstFrame> frames;
  std::vector<BurstStackNode> nodes;
  bool operator==(const BurstStacks&) const = default;

  // Calls `visit(index of a frame)`, the innermost first.
  template <typename Visit>
  void for_each_frame(uint64_t stack, const Visit& visit) const {
    for (; stack != 0; stack = nodes[stack - 1].caller) {
      visit(nodes[stack - 1].frame);
    }
  }
};

// For people: its function, else "binary+0x1136".
std::string name_of_frame(const BurstStacks& stacks, uint32_t frame);

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

// Of an event that an application tells of.
struct ApplicationDetail {
  uint64_t request = 0;  // 0: it did not say
  uint64_t call = 0;     // of an RPC's begin and end in one process: the same
  uint32_t text = 0;     // index of BurstRecording::texts
  uint32_t peer = 0;     // likewise
  bool operator==(const ApplicationDetail&) const = default;
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
  BurstStacks stacks;  // of samples
  std::vector<Burst> bursts;
  std::vector<std::string> texts;  // of applications, any bytes
  std::vector<ApplicationDetail> details;
  uint64_t lost_application_events = 0;  // of all bursts
  bool operator==(const BurstRecording&) const = default;
};

// Whether other machines' bursts may differ from these by more than a tenth of a burst.
bool is_clock_off(const ClockState& clock, const BurstConfig& config);

}  // namespace plimsoll::traces
