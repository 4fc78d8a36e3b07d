#include "daemon/perf/event_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <vector>

#include "base/suggest.h"
#include "daemon/perf/records.h"

namespace plimsoll::perf {
namespace {

constexpr double kCpuHz = 3e9;

constexpr std::array<EventType, 14> kEvents{{
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, EventUnit::kCount, kCpuHz, false},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, EventUnit::kCount, kCpuHz, false},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, EventUnit::kCount, kCpuHz / 5, false},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, EventUnit::kCount, kCpuHz / 300,
     false},
    {"llc-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, EventUnit::kCount, kCpuHz / 100,
     false},
    {"llc-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, EventUnit::kCount, kCpuHz / 1000, false},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, EventUnit::kNanoseconds, 1e9, true},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, EventUnit::kNanoseconds, 1e9, true},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, EventUnit::kCount, 1e4, false},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, EventUnit::kCount, 1e4, false},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, EventUnit::kCount, 1e2, false},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, EventUnit::kCount, 1e4, false},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, EventUnit::kCount, 1e3, false},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, EventUnit::kCount, 1e2, false},
}};

perf_event_attr common_attr(uint32_t wakeup_bytes) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.disabled = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.sample_id_all = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = wakeup_bytes;
  attr.sample_type = kSampleType;
  attr.read_format = kReadFormat;
  return attr;
}

}  // namespace

std::span<const EventType> known_events() {
  return kEvents;
}

Result<EventType> find_event(std::string_view name) {
  const auto found = std::ranges::find(kEvents, name, &EventType::name);
  if (found != kEvents.end()) {
    return *found;
  }
  std::vector<std::string_view> names;
  names.reserve(kEvents.size());
  for (const EventType& event : kEvents) {
    names.push_back(event.name);
  }
  const auto nearest = nearest_word(name, names);
  return with_hint(fail(ErrorCode::kInvalid, "no event is called \"{}\"", name),
                   nearest ? fmt::format("did you mean {}?", *nearest)
                           : fmt::format("known events: {}", fmt::join(names, ", ")));
}

uint64_t mean_period(const EventType& event, uint32_t rate_hz) {
  return static_cast<uint64_t>(std::max(1.0, std::round(event.nominal_per_second / std::max(rate_hz, 1U))));
}

perf_event_attr bare_sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes) {
  perf_event_attr attr = common_attr(wakeup_bytes);
  attr.type = event.type;
  attr.config = event.config;
  attr.sample_type = kBareSampleType;
  attr.sample_period = period;
  attr.exclude_idle = event.is_clock ? 1 : 0;
  return attr;
}

perf_event_attr sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes,
                              uint32_t stack_bytes) {
  perf_event_attr attr = bare_sampling_attr(event, period, wakeup_bytes);
  attr.sample_type = kSampleType;
  attr.sample_regs_user = kUserRegisterMask;
  attr.sample_stack_user = stack_bytes;
  return attr;
}

perf_event_attr side_band_attr(uint32_t wakeup_bytes) {
  perf_event_attr attr = common_attr(wakeup_bytes);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_regs_user = kUserRegisterMask;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.build_id = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.cgroup = 1;
  return attr;
}

}  // namespace plimsoll::perf
