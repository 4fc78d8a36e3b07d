#include "traces/bursts/search/fields.h"

#include <array>

namespace plimsoll::traces {
namespace {

constexpr std::array<std::string_view, kItemKinds> kKindNames{
    "request",         "running", "runnable", "blocked", "lock_wait", "lock_hold",
    "phase",           "syscall", "fault",    "wake",    "disk",      "packet_sent",
    "packet_received", "sample",  "rpc",      "span",    "annotation"};

constexpr ItemKinds kSpans = kinds_of(ItemKind::kRpc) | kinds_of(ItemKind::kSpan);
constexpr ItemKinds kRequests = kinds_of(ItemKind::kRequest);
constexpr ItemKinds kAll = (uint32_t{1} << kItemKinds) - 1;
constexpr ItemKinds kOfThreads = kAll & ~(kSpans | kRequests);
constexpr ItemKinds kLocks = kinds_of(ItemKind::kLockWait) | kinds_of(ItemKind::kLockHold);
constexpr ItemKinds kOnCpu = kinds_of(ItemKind::kRunning) | kinds_of(ItemKind::kSyscall) |
                             kinds_of(ItemKind::kFault) | kinds_of(ItemKind::kWake) |
                             kinds_of(ItemKind::kSample);
constexpr ItemKinds kTransfers =
    kinds_of(ItemKind::kDisk) | kinds_of(ItemKind::kPacketSent) | kinds_of(ItemKind::kPacketReceived);

constexpr std::array kFields{
    FieldInfo{"duration", Field::kDuration, FieldType::kTime, kAll},
    FieldInfo{"offset", Field::kOffset, FieldType::kTime, kAll},
    FieldInfo{"request", Field::kRequest, FieldType::kId, kAll},
    FieldInfo{"machine", Field::kMachine, FieldType::kText, kAll},
    FieldInfo{"thread", Field::kThread, FieldType::kThread, kOfThreads},
    FieldInfo{"pid", Field::kPid, FieldType::kCount, kOfThreads},
    FieldInfo{"name", Field::kName, FieldType::kText, kOfThreads},
    FieldInfo{"waker", Field::kWaker, FieldType::kThread, kinds_of(ItemKind::kBlocked)},
    FieldInfo{"woken", Field::kWoken, FieldType::kThread, kinds_of(ItemKind::kWake)},
    FieldInfo{"cpu", Field::kCpu, FieldType::kCount, kOnCpu},
    FieldInfo{"lock", Field::kLock, FieldType::kId, kLocks},
    FieldInfo{"phase", Field::kPhase, FieldType::kText, kinds_of(ItemKind::kPhase)},
    FieldInfo{"number", Field::kNumber, FieldType::kCount,
              kinds_of(ItemKind::kSyscall) | kinds_of(ItemKind::kAnnotation)},
    FieldInfo{"text", Field::kText, FieldType::kText, kinds_of(ItemKind::kAnnotation)},
    FieldInfo{"running", Field::kRunning, FieldType::kTime, kRequests},
    FieldInfo{"runnable", Field::kRunnable, FieldType::kTime, kRequests},
    FieldInfo{"blocked", Field::kBlocked, FieldType::kTime, kRequests},
    FieldInfo{"cpu_share", Field::kCpuShare, FieldType::kShare, kRequests},
    FieldInfo{"threads", Field::kThreads, FieldType::kCount, kRequests},
    FieldInfo{"whole", Field::kWhole, FieldType::kText, kRequests},
    FieldInfo{"service", Field::kService, FieldType::kText, kSpans},
    FieldInfo{"caller", Field::kCaller, FieldType::kText, kinds_of(ItemKind::kRpc)},
    FieldInfo{"operation", Field::kOperation, FieldType::kText, kSpans},
    FieldInfo{"replica", Field::kReplica, FieldType::kText, kSpans},
    FieldInfo{"version", Field::kVersion, FieldType::kText, kSpans},
    FieldInfo{"status", Field::kStatus, FieldType::kText, kSpans},
    FieldInfo{"span_kind", Field::kSpanKind, FieldType::kText, kSpans},
    FieldInfo{"bytes", Field::kBytes, FieldType::kBytes, kSpans | kTransfers},
    FieldInfo{"function", Field::kFunction, FieldType::kText, kinds_of(ItemKind::kSample)},
    FieldInfo{"stack", Field::kStack, FieldType::kText, kinds_of(ItemKind::kSample)},
};

}  // namespace

std::string_view name_of(ItemKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::optional<ItemKind> item_kind_named(std::string_view name) {
  for (size_t kind = 0; kind < kItemKinds; ++kind) {
    if (kKindNames[kind] == name) {
      return static_cast<ItemKind>(kind);
    }
  }
  return std::nullopt;
}

std::string all_item_kinds() {
  std::string all;
  for (const std::string_view name : kKindNames) {
    all += all.empty() ? "" : ", ";
    all += name;
  }
  return all;
}

bool is_of_machine(Field field) {
  return field == Field::kThread || field == Field::kWaker || field == Field::kWoken ||
         field == Field::kPid || field == Field::kCpu || field == Field::kLock;
}

std::optional<FieldInfo> field_named(std::string_view name, ItemKind kind) {
  for (const FieldInfo& info : kFields) {
    if (info.name == name && (info.kinds & kinds_of(kind)) != 0) {
      return info;
    }
  }
  if ((kSpans & kinds_of(kind)) != 0) {
    return FieldInfo{name, Field::kAttribute, FieldType::kAny, kSpans};
  }
  return std::nullopt;
}

std::string fields_of(ItemKind kind) {
  std::string all;
  for (const FieldInfo& info : kFields) {
    if ((info.kinds & kinds_of(kind)) != 0) {
      all += all.empty() ? "" : ", ";
      all += info.name;
    }
  }
  return all;
}

}  // namespace plimsoll::traces
