#include "daemon/waits/thread_stream.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/sort_stably.h"
#include "capture/perf/records.h"
#include "daemon/events/tracepoints.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/ring_buffer.h"

namespace plimsoll::waits {
namespace {

constexpr uint64_t kMinRingBytes = uint64_t{32} << 10U;
constexpr uint64_t kMaxRingBytes = uint64_t{512} << 10U;
// What all records end with, and samples begin with after their header: perf_event_open(2), struct sample_id.
constexpr uint64_t kStreamSampleType = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

struct StreamSampleId {
  uint32_t pid;
  uint32_t tid;
  uint64_t time_ns;
};

perf_event_attr stream_attr(uint64_t ring_bytes) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = kStreamSampleType;
  attr.read_format = perf::kReadFormat;
  // Of all events: one that finds the ring full tells of it by a record of its own, which has no time otherwise.
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<uint32_t>(ring_bytes / 4);
  return attr;
}

perf_event_attr switch_attr(uint64_t ring_bytes) {
  perf_event_attr attr = stream_attr(ring_bytes);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.context_switch = 1;
  attr.disabled = 1;
  return attr;
}

// Goes with its leader, the switches of its CPU.
perf_event_attr tracepoint_attr(uint32_t id, uint64_t ring_bytes) {
  perf_event_attr attr = stream_attr(ring_bytes);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = id;
  attr.sample_period = 1;
  attr.sample_type = kStreamSampleType | PERF_SAMPLE_RAW;
  return attr;
}

std::optional<ThreadRecord> decode_tracepoint(Bytes record, uint32_t cpu,
                                              const std::vector<ThreadTracepoint>& tracepoints) {
  ByteReader reader(record);
  reader.skip(sizeof(perf_event_header));
  const auto id = reader.read<StreamSampleId>();
  const auto raw_bytes = reader.read<uint32_t>();
  const Bytes raw = reader.bytes(raw_bytes);
  if (!reader.ok() || raw.size() < sizeof(uint16_t)) {
    return std::nullopt;
  }
  const uint16_t common_type = ByteReader(raw).read<uint16_t>();
  const auto tracepoint = std::ranges::find(tracepoints, common_type, &ThreadTracepoint::id);
  if (tracepoint == tracepoints.end()) {
    return std::nullopt;
  }
  ThreadRecord decoded{.time_ns = static_cast<int64_t>(id.time_ns),
                       .event = tracepoint->event,
                       .cpu = cpu,
                       .thread = {id.pid, id.tid}};
  if (tracepoint->event == ThreadEvent::kWake) {
    decoded.other.tid = static_cast<uint32_t>(bursts::unsigned_at(raw, tracepoint->woken_tid));
  }
  return decoded;
}

Result<ThreadTracepoint> find_thread_tracepoint(const perf::TracepointName& name, ThreadEvent event) {
  const auto tracefs = perf::find_tracefs("/sys");
  if (!tracefs) {
    return propagate(tracefs);
  }
  const auto format = bursts::read_tracepoint_format(*tracefs, name);
  if (!format) {
    return propagate(format);
  }
  ThreadTracepoint tracepoint{.event = event, .id = format->id};
  if (event == ThreadEvent::kWake) {
    auto tid = format->field("pid", sizeof(uint32_t));
    if (!tid) {
      return propagate(tid);
    }
    tracepoint.woken_tid = std::move(*tid);
  }
  return tracepoint;
}

Result<std::vector<ThreadTracepoint>> find_all(
    const std::vector<std::pair<perf::TracepointName, ThreadEvent>>& wanted) {
  std::vector<ThreadTracepoint> found;
  for (const auto& [name, event] : wanted) {
    auto tracepoint = find_thread_tracepoint(name, event);
    if (!tracepoint) {
      return propagate(tracepoint);
    }
    found.push_back(std::move(*tracepoint));
  }
  return found;
}

}  // namespace

std::optional<ThreadRecord> decode_thread_record(Bytes record, uint32_t cpu,
                                                 const std::vector<ThreadTracepoint>& tracepoints) {
  ByteReader reader(record);
  const auto header = reader.read<perf_event_header>();
  if (!reader.ok() || record.size() < sizeof header + sizeof(StreamSampleId)) {
    return std::nullopt;
  }
  if (header.type == PERF_RECORD_SAMPLE) {
    return decode_tracepoint(record, cpu, tracepoints);
  }
  const auto id = ByteReader(record.subspan(record.size() - sizeof(StreamSampleId))).read<StreamSampleId>();
  ThreadRecord decoded{.time_ns = static_cast<int64_t>(id.time_ns), .cpu = cpu, .thread = {id.pid, id.tid}};
  // The fields must not reach into what follows them: a record may lack its time, and is none to go by then.
  const Bytes fields = record.subspan(sizeof header, record.size() - sizeof header - sizeof(StreamSampleId));
  reader = ByteReader(fields);
  // Each switch has two records, of which the one of the thread that leaves says all. Of the idle thread there is often none
  // (seen with Linux 6.18 on a virtual machine): then the thread that enters says so, of which one record more is no harm.
  if (header.type == PERF_RECORD_SWITCH_CPU_WIDE) {
    const ThreadId next_or_previous{reader.read<uint32_t>(), reader.read<uint32_t>()};
    if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
      decoded.is_preempted = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
      decoded.other = next_or_previous;
    } else if (next_or_previous.tid == 0) {
      decoded.other = std::exchange(decoded.thread, {});
    } else {
      return std::nullopt;
    }
  } else if (header.type == PERF_RECORD_LOST) {
    decoded.event = ThreadEvent::kLost;
    reader.skip(sizeof(uint64_t));  // whose
    decoded.lost = reader.read<uint64_t>();
  } else {
    return std::nullopt;
  }
  return reader.ok() ? std::optional(decoded) : std::nullopt;
}

Result<std::vector<ThreadTracepoint>> find_wake_tracepoints() {
  return find_all({{{"sched", "sched_wakeup"}, ThreadEvent::kWake}});
}

Result<std::vector<ThreadTracepoint>> find_lock_tracepoints() {
  return find_all({{{"lock", "contention_begin"}, ThreadEvent::kLockBegin},
                   {{"lock", "contention_end"}, ThreadEvent::kLockEnd}});
}

Result<std::unique_ptr<ThreadStream>> ThreadStream::open(const ThreadStreamOptions& options) {
  std::unique_ptr<ThreadStream> stream(new ThreadStream);
  for (const auto& [is_wanted, find] : {std::pair(options.with_wakes, &find_wake_tracepoints),
                                        std::pair(options.with_locks, &find_lock_tracepoints)}) {
    if (is_wanted) {
      auto found = find();
      if (!found) {
        return propagate(found);
      }
      std::ranges::move(*found, std::back_inserter(stream->tracepoints_));
    }
  }
  auto reader = perf::RingReader::make(options.max_backlog_bytes);
  if (!reader) {
    return propagate(reader);
  }
  stream->reader_ = std::move(*reader);
  for (const int cpu : options.cpus) {
    if (auto opened = stream->open_cpu(cpu, options); !opened) {
      return propagate(opened);
    }
  }
  stream->reader_->start();
  return stream;
}

// The kernel wakes the reader where the event says; an event whose ring turns out smaller is opened again, since a reader that is
// woken by a full ring comes too late.
Status ThreadStream::open_leader(int cpu, uint32_t pages) {
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (;; pages /= 2) {
    const uint64_t ring_bytes = pages * page_bytes;
    auto leader = perf::open_event(switch_attr(ring_bytes), cpu, "switches of threads");
    if (!leader) {
      return propagate(leader);
    }
    auto ring = perf::RingBuffer::map(leader->get(), pages);
    if (ring) {
      reader_->add(std::move(*ring), leader->get());
      leaders_.push_back(std::move(*leader));
      cpu_of_ring_.push_back(static_cast<uint32_t>(cpu));
      return {};
    }
    if (ring.error().code != ErrorCode::kTooLarge || ring_bytes / 2 < kMinRingBytes || pages == 1) {
      return propagate(ring);
    }
  }
}

Status ThreadStream::open_cpu(int cpu, const ThreadStreamOptions& options) {
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t ring_bytes = std::clamp(options.max_ring_bytes / std::max<size_t>(options.cpus.size(), 1),
                                         kMinRingBytes, kMaxRingBytes);
  const auto pages = static_cast<uint32_t>(std::bit_floor(std::max<uint64_t>(ring_bytes / page_bytes, 1)));
  if (auto opened = open_leader(cpu, pages); !opened) {
    return opened;
  }
  const int leader = leaders_.back().get();
  for (const ThreadTracepoint& tracepoint : tracepoints_) {
    auto event =
        perf::open_event(tracepoint_attr(tracepoint.id, ring_bytes), cpu, "wake-ups and locks", leader);
    if (!event) {
      return propagate(event);
    }
    if (::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, leader) != 0) {
      return fail_errno(errno, "sharing the ring of CPU {}", cpu);
    }
    others_.push_back(std::move(*event));
  }
  return {};
}

Status ThreadStream::enable() {
  for (const UniqueFd& leader : leaders_) {
    if (::ioctl(leader.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "beginning to record switches");
    }
  }
  is_enabled_ = true;
  return {};
}

Status ThreadStream::disable() {
  for (const UniqueFd& leader : leaders_) {
    if (::ioctl(leader.get(), PERF_EVENT_IOC_DISABLE, 0) != 0) {
      return fail_errno(errno, "ending to record switches");
    }
  }
  is_enabled_ = false;
  return {};
}

void ThreadStream::read(std::vector<ThreadRecord>& records) {
  const size_t before = records.size();
  std::vector<perf::RingReader::Record> taken;
  bool is_all = false;
  while (!is_all) {
    is_all = reader_->take(taken);
    for (const perf::RingReader::Record& record : taken) {
      if (const auto decoded = decode_thread_record(record.bytes, cpu_of_ring_[record.ring], tracepoints_)) {
        records.push_back(*decoded);
      }
    }
    reader_->give_back(taken);
  }
  std::vector<ThreadRecord> added(records.begin() + static_cast<std::ptrdiff_t>(before), records.end());
  sort_stably(added, [](const ThreadRecord& record) { return record.time_ns; });
  std::ranges::copy(added, records.begin() + static_cast<std::ptrdiff_t>(before));
}

}  // namespace plimsoll::waits
