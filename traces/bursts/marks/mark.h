// Marks: stylized getpid() calls by which a program writes into a trace of system calls for which request it works
// (docs/bursts.md; appprof/marks.h writes them). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll::traces {

enum class MarkKind : uint8_t {
  kStart = 1,     // a request begins, and this thread works for it
  kStop = 2,      // it is over
  kSwitch = 3,    // this thread works for it from here on; 0: for none
  kLockWait = 4,  // this thread begins to wait for the lock
  kLockGot = 5,
  kPhase = 6,  // a part of the request's work begins; 0: none does
};

struct Mark {
  int64_t time_ns = 0;
  uint32_t tid = 0;
  MarkKind kind = MarkKind::kStart;
  uint64_t value = 0;  // request, lock or name, by kind
  bool operator==(const Mark&) const = default;
};

// A getpid() call as a tracer sees it: its first two arguments are whatever the registers held, unless it is half of a mark.
struct MarkCall {
  int64_t time_ns = 0;
  uint32_t tid = 0;
  uint64_t first = 0;
  uint64_t second = 0;
};

// Random numbers that are no addresses of user or kernel, no text and no small integers.
inline constexpr uint64_t kMarkHead = 0x9D3CF2A86B41E075;
inline constexpr uint64_t kMarkValue = 0xC65E0B97D42F813A;

// Whether the arguments of a getpid() call may be those of a mark. All others are left out of recordings: registers hold secrets.
constexpr bool may_be_mark(uint64_t first) {
  return first == kMarkHead || first == kMarkValue;
}

// The second argument of the first call: a fold of the value, the version, and the kind.
constexpr uint64_t mark_head(MarkKind kind, uint64_t value) {
  constexpr uint64_t kVersion = 1;
  return (value ^ value >> 32U) << 32U | kVersion << 8U | static_cast<uint64_t>(kind);
}

// Of a head: nothing where this program does not know its kind or version.
constexpr std::optional<MarkKind> kind_of_head(uint64_t head) {
  const uint64_t low = head & 0xFFFF'FFFF;
  const bool is_known = low >= mark_head(MarkKind::kStart, 0) && low <= mark_head(MarkKind::kPhase, 0);
  return is_known ? std::optional(static_cast<MarkKind>(low & 0xFF)) : std::nullopt;
}

constexpr bool belongs_to_head(uint64_t head, uint64_t value) {
  return head >> 32U == ((value ^ value >> 32U) & 0xFFFF'FFFF);
}

// The text of a phase's value, without its zeros at the end. Any bytes: escape them where they are shown.
std::string phase_name(uint64_t value);

}  // namespace plimsoll::traces
