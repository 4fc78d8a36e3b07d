// What a search of bursts is about: kinds of items, their attributes and the types of these (docs/burst-search.md). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::traces {

// Intervals and events of a burst. An event is an interval of length 0.
enum class ItemKind : uint8_t {
  kRequest,
  kRunning,
  kRunnable,
  kBlocked,
  kLockWait,
  kLockHold,
  kPhase,
  kSyscall,
  kFault,
  kWake,
  kDisk,
  kPacketSent,
  kPacketReceived,
  kSample,
  kRpc,
  kSpan,
  kAnnotation,
};
inline constexpr size_t kItemKinds = 17;
std::string_view name_of(ItemKind kind);
std::optional<ItemKind> item_kind_named(std::string_view name);
// "request, running, ..."
std::string all_item_kinds();

// A set of kinds, a bit each.
using ItemKinds = uint32_t;
constexpr ItemKinds kinds_of(ItemKind kind) {
  return uint32_t{1} << static_cast<uint32_t>(kind);
}

enum class FieldType : uint8_t {
  kTime,    // ns
  kCount,   // a plain number
  kBytes,   // a number with a unit
  kShare,   // in millionths
  kId,      // of a request or lock, decimal or 0x...
  kThread,  // a thread ID
  kText,
  kAny,  // an attribute of a span: text, or a number where it is compared to one
};

enum class Field : uint8_t {
  kDuration,
  kOffset,
  kRequest,
  kMachine,
  kThread,
  kPid,
  kName,
  kWaker,
  kWoken,
  kCpu,
  kLock,
  kPhase,
  kNumber,
  kRunning,
  kRunnable,
  kBlocked,
  kCpuShare,
  kThreads,
  kWhole,
  kService,
  kCaller,
  kOperation,
  kReplica,
  kVersion,
  kStatus,
  kSpanKind,
  kBytes,
  kFunction,
  kStack,
  kText,
  kAttribute,
};

struct FieldInfo {
  std::string_view name;
  Field field = Field::kAttribute;
  FieldType type = FieldType::kAny;
  ItemKinds kinds = 0;  // that have it
};

// IDs of threads, processes, CPUs and locks (addresses) are those of their machine: equal where machines are, too.
bool is_of_machine(Field field);

// Of an item of that kind. Any other name is an attribute of spans and RPCs. Nothing: the kind has no such attribute.
std::optional<FieldInfo> field_named(std::string_view name, ItemKind kind);
// "duration, offset, ..." of a kind.
std::string fields_of(ItemKind kind);

}  // namespace plimsoll::traces
