#include "daemon/bursts/burst_recorder.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <span>
#include <utility>

#include "base/time.h"
#include "capture/perf/records.h"
#include "daemon/bursts/burst_clock.h"
#include "daemon/events/cpu_list.h"
#include "daemon/events/tracepoints.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/ring_buffer.h"

namespace plimsoll::bursts {
namespace {

using traces::BurstEventKind;

constexpr uint64_t kMinRingBytes = uint64_t{32} << 10;

uint64_t bytes_of_page() {
  return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Wanted {
  BurstEventKind kind;
  perf::TracepointName name;
  bool is_required;
};

std::vector<Wanted> wanted_tracepoints(const BurstRecorderOptions& options) {
  std::vector<Wanted> wanted{{BurstEventKind::kSwitch, {"sched", "sched_switch"}, true},
                             {BurstEventKind::kWake, {"sched", "sched_waking"}, true},
                             {BurstEventKind::kNewThread, {"sched", "sched_wakeup_new"}, false}};
  if (options.with_system_calls) {
    wanted.push_back({BurstEventKind::kSyscallEnter, {"raw_syscalls", "sys_enter"}, false});
    wanted.push_back({BurstEventKind::kSyscallExit, {"raw_syscalls", "sys_exit"}, false});
  } else {
    wanted.push_back({BurstEventKind::kMarkCall, {"raw_syscalls", "sys_enter"}, false});
  }
  if (options.with_page_faults) {
    wanted.push_back({BurstEventKind::kPageFault, {"exceptions", "page_fault_user"}, false});
  }
  if (options.with_disk) {
    wanted.push_back({BurstEventKind::kDiskIssue, {"block", "block_rq_issue"}, false});
    wanted.push_back({BurstEventKind::kDiskDone, {"block", "block_rq_complete"}, false});
  }
  if (options.with_network) {
    wanted.push_back({BurstEventKind::kPacketSent, {"net", "net_dev_queue"}, false});
    wanted.push_back({BurstEventKind::kPacketReceived, {"net", "netif_receive_skb"}, false});
  }
  return wanted;
}

Result<BurstTracepoint> find_tracepoint(const std::string& tracefs, const Wanted& wanted) {
  const auto format = read_tracepoint_format(tracefs, wanted.name);
  return format ? burst_tracepoint(wanted.kind, *format) : propagate(format);
}

// Adds to `notes` what is not there.
Result<std::vector<BurstTracepoint>> find_tracepoints(const BurstRecorderOptions& options,
                                                      std::vector<std::string>& notes) {
  const auto tracefs = perf::find_tracefs("/sys");
  if (!tracefs) {
    return propagate(tracefs, "bursts are recorded by tracepoints");
  }
  std::vector<BurstTracepoint> tracepoints;
  for (const Wanted& wanted : wanted_tracepoints(options)) {
    auto tracepoint = find_tracepoint(*tracefs, wanted);
    if (tracepoint) {
      tracepoints.push_back(std::move(*tracepoint));
    } else if (wanted.is_required) {
      return propagate(tracepoint);
    } else {
      notes.push_back(fmt::format("not recorded: {}: {}", name_of(wanted.kind), tracepoint.error().text()));
    }
  }
  return tracepoints;
}

perf_event_attr common_attr(uint64_t ring_bytes) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.read_format = perf::kReadFormat;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<uint32_t>(ring_bytes / 4);
  return attr;
}

perf_event_attr attr_of(const BurstTracepoint& tracepoint, bool is_leader, uint64_t ring_bytes, bool has_id) {
  perf_event_attr attr = common_attr(ring_bytes);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = tracepoint.id;
  attr.sample_period = 1;
  attr.sample_type = burst_sample_type(has_id);
  // The others of a group count only while its leader does.
  attr.disabled = is_leader ? 1 : 0;
  return attr;
}

// The kernel follows frame pointers in user mode, too: at most kernel.perf_event_max_stack frames.
perf_event_attr attr_of_samples(uint64_t period_ns, uint64_t ring_bytes) {
  perf_event_attr attr = common_attr(ring_bytes);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = period_ns;
  attr.sample_type = burst_stack_sample_type();
  attr.exclude_idle = 1;
  return attr;
}

// The number can be filtered in the kernel, its arguments cannot.
Status record_getpid_only(const UniqueFd& event) {
  const std::string filter = fmt::format("id=={}", SYS_getpid);
  return ::ioctl(event.get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) == 0
             ? Status()
             : fail_errno(errno, "filtering system calls by their number");
}

}  // namespace

uint32_t pages_per_ring(uint64_t max_ring_bytes, size_t cpus, uint64_t page_bytes) {
  const uint64_t share = std::max(max_ring_bytes / std::max<size_t>(cpus, 1), kMinRingBytes);
  return static_cast<uint32_t>(std::bit_floor(std::max<uint64_t>(share / page_bytes, 1)));
}

Result<std::unique_ptr<Recorder>> open_burst_recorder(const BurstRecorderOptions& options) {
  auto recorder = BurstRecorder::open(options);
  return recorder ? Result<std::unique_ptr<Recorder>>(std::move(*recorder)) : propagate(recorder);
}

BurstRecorder::Sampling::Sampling(const BurstRecorderOptions& options,
                                  std::unique_ptr<identity::KernelMap> kernel)
    : period_ns_(static_cast<uint64_t>(kNsPerSecond) / options.samples_hz),
      kernel_(std::move(kernel)),
      stacks_(proc_fs_, images_, kernel_.get(), options.max_stack_nodes) {}

std::unique_ptr<BurstRecorder::Sampling> BurstRecorder::Sampling::make(const BurstRecorderOptions& options,
                                                                       std::vector<std::string>& notes) {
  if (options.samples_hz == 0) {
    return nullptr;
  }
  // Samples have the numbers of threads in this program's namespace, tracepoints those of the initial one.
  if (!identity::ProcFs().sees_all_processes()) {
    notes.emplace_back(
        "not recorded: sample: this program is in a PID namespace, in which threads have other numbers");
    return nullptr;
  }
  auto kernel = identity::KernelMap::read_running();
  if (!kernel) {
    notes.push_back("kernel code of samples is unresolved: " + kernel.error().text());
  }
  return std::unique_ptr<Sampling>(
      new Sampling(options, kernel ? std::make_unique<identity::KernelMap>(std::move(*kernel)) : nullptr));
}

BurstRecorder::BurstRecorder(std::vector<BurstTracepoint> tracepoints, std::unique_ptr<Sampling> sampling,
                             std::vector<std::string> notes, std::vector<int> online)
    : tracepoints_(std::move(tracepoints)),
      notes_(std::move(notes)),
      online_(std::move(online)),
      sampling_(std::move(sampling)),
      collector_(tracepoints_, SYS_getpid, sampling_ == nullptr ? nullptr : &sampling_->stacks()) {}

traces::BurstStacks BurstRecorder::take_stacks() {
  return sampling_ == nullptr ? traces::BurstStacks() : sampling_->stacks().take();
}

Result<std::unique_ptr<BurstRecorder>> BurstRecorder::open(const BurstRecorderOptions& options) {
  std::vector<std::string> notes;
  auto tracepoints = find_tracepoints(options, notes);
  if (!tracepoints) {
    return propagate(tracepoints);
  }
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  auto reader = perf::RingReader::make(options.max_burst_bytes);
  if (!reader) {
    return propagate(reader);
  }
  auto sampling = Sampling::make(options, notes);
  std::unique_ptr<BurstRecorder> recorder(
      new BurstRecorder(std::move(*tracepoints), std::move(sampling), std::move(notes), *cpus));
  recorder->reader_ = std::move(*reader);
  const uint32_t pages = pages_per_ring(options.max_ring_bytes, cpus->size(), bytes_of_page());
  for (const int cpu : *cpus) {
    if (const Status opened = recorder->open_cpu(cpu, pages); !opened) {
      return propagate(opened);
    }
  }
  recorder->reader_->start();
  return recorder;
}

Status BurstRecorder::check() {
  std::vector<std::string> notes;
  const auto tracepoints = find_tracepoints({}, notes);
  if (!tracepoints) {
    return propagate(tracepoints);
  }
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  if (cpus->empty()) {
    return fail(ErrorCode::kUnsupported, "no CPU is online");
  }
  const BurstTracepoint& tracepoint = tracepoints->front();
  const auto event = perf::open_event(attr_of(tracepoint, true, kMinRingBytes, false), cpus->front(),
                                      name_of(tracepoint.kind), -1);
  return event ? Status() : propagate(event);
}

bool BurstRecorder::is_outdated() const {
  const auto online = perf::online_cpus();
  return online && *online != online_;
}

// The kernel wakes the reader where the event says, or where the ring is full if that comes first: an event whose ring
// turns out smaller is opened again, since a reader that is woken by a full ring comes too late.
Status BurstRecorder::open_leader(int cpu, uint32_t pages) {
  const BurstTracepoint& tracepoint = tracepoints_.front();
  for (;; pages /= 2) {
    const uint64_t ring_bytes = uint64_t{pages} * bytes_of_page();
    auto event = perf::open_event(attr_of(tracepoint, true, ring_bytes, sampling_ != nullptr), cpu,
                                  name_of(tracepoint.kind), -1);
    if (!event) {
      return propagate(event);
    }
    auto ring = perf::RingBuffer::map(event->get(), pages);
    if (ring) {
      reader_->add(std::move(*ring), event->get());
      events_.push_back({std::move(*event), tracepoint.kind});
      return {};
    }
    if (ring.error().code != ErrorCode::kTooLarge || ring_bytes / 2 < kMinRingBytes || pages == 1) {
      return propagate(ring);
    }
  }
}

Status BurstRecorder::open_cpu(int cpu, uint32_t pages) {
  const size_t leader = events_.size();
  leaders_.push_back(leader);
  if (const Status opened = open_leader(cpu, pages); !opened) {
    return opened;
  }
  const uint64_t ring_bytes = uint64_t{pages} * bytes_of_page();
  for (const BurstTracepoint& tracepoint : std::span(tracepoints_).subspan(1)) {
    auto event = perf::open_event(attr_of(tracepoint, false, ring_bytes, sampling_ != nullptr), cpu,
                                  name_of(tracepoint.kind), events_[leader].fd.get());
    if (!event) {
      return propagate(event);
    }
    if (tracepoint.kind == BurstEventKind::kMarkCall) {
      if (const Status filtered = record_getpid_only(*event); !filtered) {
        return filtered;
      }
    }
    if (::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, events_[leader].fd.get()) != 0) {
      return fail_errno(errno, "sharing the ring of CPU {}", cpu);
    }
    events_.push_back({std::move(*event), tracepoint.kind});
  }
  return sampling_ == nullptr ? Status() : open_samples(cpu, events_[leader], ring_bytes);
}

Status BurstRecorder::open_samples(int cpu, const OpenEvent& leader, uint64_t ring_bytes) {
  auto event = perf::open_event(attr_of_samples(sampling_->period_ns(), ring_bytes), cpu,
                                name_of(BurstEventKind::kSample), leader.fd.get());
  if (!event) {
    return propagate(event);
  }
  if (::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, leader.fd.get()) != 0) {
    return fail_errno(errno, "sharing the ring of CPU {} with samples", cpu);
  }
  const auto values = perf::read_counter(*event);
  if (!values) {
    return propagate(values);
  }
  collector_.add_sample_event(values->id);
  events_.push_back({std::move(*event), BurstEventKind::kSample});
  return {};
}

Status BurstRecorder::enable(traces::Burst& burst) {
  for (const size_t leader : leaders_) {
    if (::ioctl(events_[leader].fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "beginning to record a burst");
    }
  }
  burst.on_ns = monotonic_now_ns();
  burst.wall_offset_on_ns = wall_offset_ns();
  return {};
}

Status BurstRecorder::disable(traces::Burst& burst) {
  burst.off_ns = monotonic_now_ns();
  burst.wall_offset_off_ns = wall_offset_ns();
  for (const size_t leader : leaders_) {
    if (::ioctl(events_[leader].fd.get(), PERF_EVENT_IOC_DISABLE, 0) != 0) {
      return fail_errno(errno, "ending a burst");
    }
  }
  return {};
}

Status BurstRecorder::finish(traces::Burst& burst) {
  std::vector<perf::RingReader::Record> records;
  bool is_all = false;
  while (!is_all) {
    is_all = reader_->take(records);
    for (const auto& record : records) {
      (void)collector_.add(record.bytes);  // what it cannot decode it counts
    }
    reader_->give_back(records);
    records.clear();
  }
  burst.events = collector_.take_events();
  const uint64_t dropped_bytes = reader_->dropped_bytes() - dropped_bytes_;
  dropped_bytes_ += dropped_bytes;
  burst.unread_bytes = dropped_bytes + collector_.take_unread_bytes();
  for (OpenEvent& event : events_) {
    const auto values = perf::read_counter(event.fd);
    if (!values) {
      return propagate(values);
    }
    burst.lost[static_cast<size_t>(event.kind)] += values->lost - event.lost;
    event.lost = values->lost;
  }
  return {};
}

}  // namespace plimsoll::bursts
