#include "daemon/sampling/event_config.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "capture/perf/records.h"

namespace plimsoll::perf {
namespace {

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

uint64_t mean_period(const EventTraits& event, uint32_t rate_hz) {
  return static_cast<uint64_t>(std::max(1.0, std::round(event.nominal_per_second / std::max(rate_hz, 1U))));
}

void set_code(const EventCode& code, perf_event_attr& attr) {
  attr.type = code.type;
  attr.config = code.config;
  attr.config1 = code.config1;
  attr.config2 = code.config2;
}

perf_event_attr bare_sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes) {
  perf_event_attr attr = common_attr(wakeup_bytes);
  set_code(event.codes.front(), attr);
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

perf_event_attr branch_sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes) {
  perf_event_attr attr = bare_sampling_attr(event, period, wakeup_bytes);
  attr.sample_type = kBranchSampleType;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

perf_event_attr counting_attr(const EventType& event) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.read_format = kReadFormat;
  set_code(event.codes.front(), attr);
  return attr;
}

perf_event_attr side_band_attr(uint32_t wakeup_bytes) {
  perf_event_attr attr = common_attr(wakeup_bytes);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_regs_user = kUserRegisterMask;
  attr.mmap = 1;
  // Not attr.build_id: Linux marks the record of a mapping for the event that asked for build IDs and does not take
  // the mark back for the next event that gets the same record, so that perf record beside this daemon read garbage,
  // and aborted.
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.cgroup = 1;
  return attr;
}

}  // namespace plimsoll::perf
