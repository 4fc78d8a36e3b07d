// What a mark costs the program that makes it.
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <functional>
#include <optional>

#include "appprof/appprof_c.h"
#include "base/time.h"
#include "bench/bursts/ftrace_instance.h"
#include "bench/bursts/parts.h"
#include "bench/harness/statistics.h"
#include "daemon/events/tracepoints.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/ring_buffer.h"

namespace plimsoll::bench {
namespace {

constexpr int kRounds = 15;
constexpr int kQuickRounds = 7;
// Few enough that a ring holds all their records.
constexpr int kCalls = 10'000;
constexpr uint32_t kRingPages = 1024;

double ns_per_call(const std::function<void(int)>& calls) {
  const int64_t start = thread_cpu_ns();
  calls(kCalls);
  return static_cast<double>(thread_cpu_ns() - start) / kCalls;
}

void look_at_clock(int calls) {
  timespec now{};
  for (int i = 0; i < calls; ++i) {
    ::clock_gettime(CLOCK_REALTIME, &now);
    keep(static_cast<uint64_t>(now.tv_nsec));
  }
}

void call_getpid(int calls) {
  for (int i = 0; i < calls; ++i) {
    keep(static_cast<uint64_t>(::syscall(SYS_getpid)));
  }
}

void make_marks(int calls) {
  for (int i = 0; i < calls; ++i) {
    plimsoll_appprof_request_switch(static_cast<uint64_t>(i));
  }
}

double marks_with(const char* config) {
  plimsoll_appprof_set_bursts(config);
  const double ns = ns_per_call(make_marks);
  plimsoll_appprof_set_bursts("off");
  return ns;
}

// Records the getpid() calls of this CPU while it exists, as the daemon does in a burst.
struct Recording {
  UniqueFd event;
  perf::RingBuffer ring;
};

Result<Recording> record_getpid(int cpu) {
  const auto tracefs = perf::find_tracefs("/sys");
  if (!tracefs) {
    return propagate(tracefs);
  }
  const auto id = perf::tracepoint_id(*tracefs, {"raw_syscalls", "sys_enter"});
  if (!id) {
    return propagate(id);
  }
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = *id;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  auto event = perf::open_event(attr, cpu, "raw_syscalls:sys_enter");
  if (!event) {
    return propagate(event);
  }
  const std::string filter = fmt::format("id=={}", SYS_getpid);
  if (::ioctl(event->get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
    return fail_errno(errno, "filtering system calls");
  }
  auto ring = perf::RingBuffer::map(event->get(), kRingPages);
  if (!ring) {
    return propagate(ring);
  }
  return Recording{std::move(*event), std::move(*ring)};
}

// Not where this machine or user has no tracepoints.
std::optional<double> recorded_mark_ns(int rounds) {
  const int cpu = ::sched_getcpu();
  cpu_set_t before;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpu), &one);
  if (::sched_getaffinity(0, sizeof before, &before) != 0 || ::sched_setaffinity(0, sizeof one, &one) != 0) {
    return std::nullopt;
  }
  auto recording = record_getpid(cpu);
  if (!recording) {
    fmt::print(stderr, "marks while perf records them: {}\n", recording.error().text());
    return std::nullopt;
  }
  std::vector<double> ns;
  for (int round = 0; round < rounds; ++round) {
    ns.push_back(marks_with("always"));
    uint64_t end = 0;
    recording->ring.peek([&](Bytes /*record*/, uint64_t position) { end = position; });
    recording->ring.release(end);
  }
  ::sched_setaffinity(0, sizeof before, &before);
  return median(ns);
}

// Not where this machine or user has no ftrace.
std::optional<double> ftraced_mark_ns(int rounds) {
  const auto instance = FtraceInstance::record_getpid();
  if (!instance) {
    fmt::print(stderr, "marks while ftrace records them: {}\n", instance.error().text());
    return std::nullopt;
  }
  std::vector<double> ns;
  for (int round = 0; round < rounds; ++round) {
    ns.push_back(marks_with("always"));
  }
  return median(ns);
}

}  // namespace

Status measure_marks(const Flags& flags, Report& report) {
  const int rounds = flags.quick ? kQuickRounds : kRounds;
  // Bursts of "20,20" are 17 minutes in 34 years.
  const std::array<std::function<double()>, 5> contenders{
      [] { return ns_per_call(look_at_clock); }, [] { return 2 * ns_per_call(call_getpid); },
      [] { return marks_with("off"); }, [] { return marks_with("20,20"); },
      [] { return marks_with("always"); }};
  const auto ns = interleaved_medians(rounds, contenders);
  report.add({.name = "mark-without-bursts-ns", .value = ns[2], .unit = "ns"});
  report.add({.name = "mark-outside-of-a-burst-ns",
              .value = ns[3],
              .unit = "ns",
              .peer = "clock_gettime",
              .peer_value = ns[0],
              .goal = 25});
  report.add({.name = "mark-in-a-burst-not-recorded-ns",
              .value = ns[4],
              .unit = "ns",
              .peer = "two getpid() calls",
              .peer_value = ns[1]});
  if (const auto recorded = ftraced_mark_ns(rounds)) {
    report.add({.name = "mark-in-a-burst-recorded-by-ftrace-ns",
                .value = *recorded,
                .unit = "ns",
                .peer = "two getpid() calls",
                .peer_value = ns[1],
                .goal = 350});
  }
  if (const auto recorded = recorded_mark_ns(rounds)) {
    report.add({.name = "mark-in-a-burst-recorded-by-perf-ns",
                .value = *recorded,
                .unit = "ns",
                .peer = "two getpid() calls",
                .peer_value = ns[1],
                .goal = 600});
  }
  return {};
}

}  // namespace plimsoll::bench
