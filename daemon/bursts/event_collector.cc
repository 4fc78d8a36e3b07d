#include "daemon/bursts/event_collector.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/sort_stably.h"
#include "traces/bursts/marks/mark.h"

namespace plimsoll::bursts {
namespace {

using traces::BurstEvent;
using traces::BurstEventKind;
using traces::BurstThread;

// What all sample types begin with, behind the ID: perf_event_open(2), PERF_RECORD_SAMPLE.
struct SampleHead {
  uint32_t pid;
  uint32_t tid;
  uint64_t time_ns;
  uint32_t cpu;
  uint32_t reserved;
};
constexpr size_t kNameBytes = 16;

constexpr uint64_t kSectorBytes = 512;
constexpr int kSectorBits = 44;

// TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ of common_flags.
constexpr uint8_t kInInterrupt = 0x18;

struct Needed {
  TracepointField* field;
  const char* name;
  uint32_t min_size;
};

bool is_in_interrupt(const BurstTracepoint& tracepoint, Bytes raw) {
  ByteReader reader(raw);
  (void)reader.bytes(tracepoint.flags.offset);
  return (reader.read<uint8_t>() & kInInterrupt) != 0;
}

}  // namespace

uint64_t burst_sample_type(bool has_id) {
  constexpr uint64_t kWithoutId = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
  constexpr uint64_t kWithId = kWithoutId | PERF_SAMPLE_IDENTIFIER;
  return has_id ? kWithId : kWithoutId;
}

uint64_t burst_stack_sample_type() {
  return PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
         PERF_SAMPLE_CALLCHAIN;
}

Result<BurstTracepoint> burst_tracepoint(BurstEventKind kind, const TracepointFormat& format) {
  BurstTracepoint tracepoint;
  tracepoint.kind = kind;
  tracepoint.id = format.id;
  std::vector<Needed> needed;
  // What all tracepoints have: of the thread that is current, which a switch leaves.
  tracepoint.flags =
      format.field("common_flags", 1).value_or(TracepointField{.name = {}, .offset = 2, .size = 1});
  tracepoint.own_tid =
      format.field("common_pid", 4).value_or(TracepointField{.name = {}, .offset = 4, .size = 4});
  switch (kind) {
    case BurstEventKind::kSwitch:
      needed = {{&tracepoint.other_tid, "next_pid", 4},
                {&tracepoint.other_name, "next_comm", 1},
                {&tracepoint.own_name, "prev_comm", 1},
                {&tracepoint.state, "prev_state", 4}};
      break;
    case BurstEventKind::kWake:
    case BurstEventKind::kNewThread:
      needed = {{&tracepoint.other_tid, "pid", 4}, {&tracepoint.other_name, "comm", 1}};
      break;
    case BurstEventKind::kMarkCall:
    case BurstEventKind::kSyscallEnter:
      needed = {{&tracepoint.call, "id", 4}, {&tracepoint.arguments, "args", 2 * sizeof(uint64_t)}};
      break;
    case BurstEventKind::kSyscallExit:
      needed = {{&tracepoint.call, "id", 4}};
      break;
    case BurstEventKind::kPageFault:
    case BurstEventKind::kSample:  // of no tracepoint
      break;
    case BurstEventKind::kDiskIssue:
    case BurstEventKind::kDiskDone:
      needed = {{&tracepoint.device, "dev", 4},
                {&tracepoint.sector, "sector", 8},
                {&tracepoint.sectors, "nr_sector", 4}};
      break;
    case BurstEventKind::kPacketSent:
    case BurstEventKind::kPacketReceived:
      needed = {{&tracepoint.length, "len", 4}};
      break;
    case BurstEventKind::kRpcIn:
    case BurstEventKind::kRpcOut:
    case BurstEventKind::kRpcEnd:
    case BurstEventKind::kAnnotation:
    case BurstEventKind::kNamedPhase:
      return fail(ErrorCode::kUnsupported, "{} is no tracepoint", name_of(kind));
  }
  for (const Needed& one : needed) {
    auto field = format.field(one.name, one.min_size);
    if (!field) {
      return propagate(field);
    }
    *one.field = std::move(*field);
  }
  return tracepoint;
}

EventCollector::EventCollector(std::vector<BurstTracepoint> tracepoints, uint64_t getpid,
                               StackCollector* stacks)
    : tracepoints_(std::move(tracepoints)), getpid_(getpid), stacks_(stacks) {
  threads_.push_back({.tid = 0, .pid = 0, .name = "idle"});
  begin_burst();
}

void EventCollector::begin_burst() {
  burst_threads_.assign(1, threads_.front());
  index_by_tid_.clear();
  index_by_tid_.emplace(0, 0);
}

std::vector<BurstThread> EventCollector::take_threads() {
  known_by_tid_.clear();
  std::vector<BurstThread> next(1, threads_.front());
  return std::exchange(threads_, std::move(next));
}

uint32_t EventCollector::thread_of(uint32_t tid, uint32_t pid, std::string_view name) {
  const auto [found, is_new] = index_by_tid_.try_emplace(tid, static_cast<uint32_t>(burst_threads_.size()));
  if (is_new) {
    burst_threads_.push_back({.tid = tid, .pid = 0, .name = {}});
  }
  BurstThread& thread = burst_threads_[found->second];
  // The idle threads of all CPUs are one, called swapper/0, swapper/1, ...
  if (tid != 0) {
    thread.pid = pid != 0 ? pid : thread.pid;
    if (!name.empty() && thread.name != name) {
      thread.name = name.substr(0, kNameBytes);
    }
  }
  return found->second;
}

uint32_t EventCollector::known_thread(const BurstThread& thread) {
  // Its process may have become known in one of the bursts alone, and so may its name: one that runs through a burst is
  // neither switched nor woken there.
  const auto is_same = [&thread](const BurstThread& before) {
    return before.name == thread.name
               ? before.pid == thread.pid || before.pid == 0 || thread.pid == 0
               : before.pid == thread.pid && before.pid != 0 && (before.name.empty() || thread.name.empty());
  };
  std::optional<uint32_t> newest;
  const auto [first, last] = known_by_tid_.equal_range(thread.tid);
  for (auto known = first; known != last; ++known) {
    if (is_same(threads_[known->second])) {
      newest = std::max(newest.value_or(0), known->second);
    }
  }
  if (newest) {
    BurstThread& before = threads_[*newest];
    before.pid = before.pid == 0 ? thread.pid : before.pid;
    before.name = before.name.empty() ? thread.name : before.name;
    return *newest;
  }
  const auto index = static_cast<uint32_t>(threads_.size());
  threads_.push_back(thread);
  known_by_tid_.emplace(thread.tid, index);
  return index;
}

std::optional<BurstEvent> EventCollector::decode_call(const BurstTracepoint& tracepoint, Bytes raw,
                                                      BurstEvent event) const {
  event.first = unsigned_at(raw, tracepoint.call);
  if (tracepoint.kind != BurstEventKind::kSyscallExit && event.first == getpid_) {
    TracepointField argument = tracepoint.arguments;
    argument.size = sizeof(uint64_t);
    const uint64_t first = unsigned_at(raw, argument);
    if (traces::may_be_mark(first)) {
      argument.offset += sizeof(uint64_t);
      event.kind = BurstEventKind::kMarkCall;
      event.first = first;
      event.second = unsigned_at(raw, argument);
      return event;
    }
  }
  // A natural getpid() call where marks alone are asked for.
  return tracepoint.kind == BurstEventKind::kMarkCall ? std::nullopt : std::optional(event);
}

bool EventCollector::add(Bytes record) {
  // Others are the kernel's own, such as those that say that events were lost: it counts these besides.
  ByteReader reader(record);
  const auto header = reader.read<perf_event_header>();
  const bool is_other = reader.ok() && header.type != PERF_RECORD_SAMPLE;
  const bool is_decoded = !is_other && decode(record);
  unread_bytes_ += is_other || is_decoded ? 0 : record.size();
  return is_decoded;
}

bool EventCollector::decode_sample(uint32_t tid, uint32_t pid, BurstEvent event, ByteReader& rest) {
  const auto entries = rest.read<uint64_t>();
  if (!rest.ok() || entries > rest.remaining() / sizeof(uint64_t)) {
    return false;
  }
  chain_.clear();
  for (uint64_t i = 0; i < entries; ++i) {
    chain_.push_back(rest.read<uint64_t>());
  }
  // A thread that is about to end has no numbers any more.
  if (tid != 0 && tid != UINT32_MAX && pid != UINT32_MAX) {
    event.kind = BurstEventKind::kSample;
    event.thread = thread_of(tid, pid, {});
    event.first = stacks_->stack_of(pid, chain_);
    events_.push_back(event);
  }
  return true;
}

bool EventCollector::decode(Bytes record) {
  ByteReader reader(record);
  (void)reader.read<perf_event_header>();
  const uint64_t event_id = stacks_ == nullptr ? 0 : reader.read<uint64_t>();
  SampleHead head{};
  head.pid = reader.read<uint32_t>();
  head.tid = reader.read<uint32_t>();
  head.time_ns = reader.read<uint64_t>();
  head.cpu = reader.read<uint32_t>();
  head.reserved = reader.read<uint32_t>();
  const BurstEvent event{.time_ns = static_cast<int64_t>(head.time_ns),
                         .first = 0,
                         .second = 0,
                         .thread = 0,
                         .other = 0,
                         .cpu = static_cast<uint16_t>(head.cpu),
                         .kind = BurstEventKind::kSwitch};
  if (sample_events_.contains(event_id)) {
    return decode_sample(head.tid, head.pid, event, reader);
  }
  const auto raw_bytes = reader.read<uint32_t>();
  const Bytes raw = reader.bytes(raw_bytes);
  return reader.ok() && decode_tracepoint(head.tid, head.pid, event, raw);
}

bool EventCollector::decode_tracepoint(uint32_t sample_tid, uint32_t sample_pid, BurstEvent event,
                                       Bytes raw) {
  if (raw.size() < sizeof(uint16_t)) {
    return false;
  }
  const uint16_t id = ByteReader(raw).read<uint16_t>();
  const auto tracepoint = std::ranges::find(tracepoints_, id, &BurstTracepoint::id);
  if (tracepoint == tracepoints_.end()) {
    return false;
  }
  // In the initial namespace, as all numbers in raw data are. Those of the sample are in this process's namespace, and none
  // where the thread is about to end.
  const auto tid = static_cast<uint32_t>(unsigned_at(raw, tracepoint->own_tid));
  const uint32_t pid = sample_tid == tid ? sample_pid : 0;
  const bool is_switch = tracepoint->kind == BurstEventKind::kSwitch;
  event.kind = tracepoint->kind;
  event.thread = thread_of(tid, pid, is_switch ? text_at(raw, tracepoint->own_name) : std::string_view());
  if (const auto made = with_fields(*tracepoint, raw, event)) {
    events_.push_back(*made);
  }
  return true;
}

std::optional<BurstEvent> EventCollector::with_fields(const BurstTracepoint& tracepoint, Bytes raw,
                                                      BurstEvent event) {
  switch (tracepoint.kind) {
    case BurstEventKind::kSwitch:
    case BurstEventKind::kWake:
    case BurstEventKind::kNewThread:
      event.other = thread_of(static_cast<uint32_t>(unsigned_at(raw, tracepoint.other_tid)), 0,
                              text_at(raw, tracepoint.other_name));
      event.first = tracepoint.kind == BurstEventKind::kSwitch ? unsigned_at(raw, tracepoint.state)
                    : is_in_interrupt(tracepoint, raw)         ? 1
                                                               : 0;
      return event;
    case BurstEventKind::kMarkCall:
    case BurstEventKind::kSyscallEnter:
    case BurstEventKind::kSyscallExit:
      return decode_call(tracepoint, raw, event);
    case BurstEventKind::kPageFault:
      return event;
    case BurstEventKind::kDiskIssue:
    case BurstEventKind::kDiskDone:
      event.first = unsigned_at(raw, tracepoint.sectors) * kSectorBytes;
      // A device has a minor of 20 bits and a major of 12: above 44 bits of sectors (8 PiB), the major beside the lowest ones.
      // Requests that are under way at once have the same number hardly ever; nothing else is read from it.
      event.second =
          std::rotl(unsigned_at(raw, tracepoint.device), kSectorBits) ^ unsigned_at(raw, tracepoint.sector);
      return event;
    case BurstEventKind::kPacketSent:
    case BurstEventKind::kPacketReceived:
      event.first = unsigned_at(raw, tracepoint.length);
      return event;
    // Of no tracepoint: burst_tracepoint() makes none, or sample events have them.
    case BurstEventKind::kSample:
    case BurstEventKind::kRpcIn:
    case BurstEventKind::kRpcOut:
    case BurstEventKind::kRpcEnd:
    case BurstEventKind::kAnnotation:
    case BurstEventKind::kNamedPhase:
      break;
  }
  return std::nullopt;
}

std::vector<BurstEvent> EventCollector::take_events() {
  sort_stably(events_, [](const BurstEvent& event) { return event.time_ns; });
  std::vector<uint32_t> known{0};
  for (size_t i = 1; i < burst_threads_.size(); ++i) {
    known.push_back(known_thread(burst_threads_[i]));
  }
  for (BurstEvent& event : events_) {
    event.thread = known[event.thread];
    event.other = known[event.other];
  }
  if (stacks_ != nullptr) {
    stacks_->end_burst();
  }
  begin_burst();
  return std::exchange(events_, {});
}

}  // namespace plimsoll::bursts
