#include "daemon/perf/sampler.h"

#include <linux/membarrier.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <optional>
#include <tuple>

#include "base/time.h"
#include "daemon/perf/open_event.h"

namespace plimsoll::perf {
namespace {

// The interrupt that disables an event may hit a CPU that has counted an occurrence and is about to write its sample,
// which then arrives after the event was disabled. Such code runs with preemption disabled, and a grace period of RCU,
// which this membarrier is, waits for the end of all of it. Where the kernel refuses (nohz_full), time has to do: the
// writing takes microseconds.
void wait_for_samples_being_written() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) {
    constexpr timespec kTwoMilliseconds{0, 2'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kTwoMilliseconds, nullptr);
  }
}

uint32_t half_of_pages(uint32_t pages) {
  return pages * static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

// The mean period of a part of an event's samples.
uint64_t period_of_share(const SampledEvent& event, double share) {
  return static_cast<uint64_t>(std::max(1.0, std::round(static_cast<double>(event.mean_period) / share)));
}

}  // namespace

EventCounts EventCounts::operator-(const EventCounts& earlier) const {
  return {total - earlier.total, time_enabled_ns - earlier.time_enabled_ns,
          time_running_ns - earlier.time_running_ns, lost - earlier.lost, ticks_due - earlier.ticks_due};
}

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), random_(options_.seed) {}

Result<Sampler> Sampler::open(SamplerOptions options) {
  Sampler sampler(std::move(options));
  for (const int cpu : sampler.options_.cpus) {
    if (auto opened = sampler.open_cpu(cpu); !opened) {
      return propagate(opened);
    }
  }
  return sampler;
}

Status Sampler::open_cpu(int cpu) {
  int ring_fd = -1;
  for (size_t index = 0; index < options_.events.size(); ++index) {
    if (auto opened = open_samples(index, cpu, ring_fd); !opened) {
      return opened;
    }
  }
  return open_side_band(cpu);
}

Status Sampler::open_samples(size_t index, int cpu, int& ring_fd) {
  const SampledEvent& event = options_.events[index];
  const uint32_t wakeup_bytes = half_of_pages(options_.sample_pages);
  const uint64_t stack_period = period_of_share(event, event.stack_share);
  auto opened =
      open_one({.index = index, .leads = true, .mean_period = stack_period},
               sampling_attr(event.type, stack_period, wakeup_bytes, options_.stack_bytes), cpu, -1, ring_fd);
  if (!opened || event.stack_share >= 1) {
    return opened;
  }
  const uint64_t bare_period = period_of_share(event, 1 - event.stack_share);
  perf_event_attr attr = bare_sampling_attr(event.type, bare_period, wakeup_bytes);
  attr.disabled = 0;  // it goes with its leader
  opened = open_one({.index = index, .leads = false, .mean_period = bare_period}, attr, cpu,
                    events_.back().fd.get(), ring_fd);
  return opened ? opened : propagate(opened, "counting it twice, for samples with and without stacks");
}

Status Sampler::open_one(Part part, const perf_event_attr& attr, int cpu, int leader_fd, int& ring_fd) {
  const std::string_view name = options_.events[part.index].type.name;
  auto fd = open_event(attr, cpu, name, leader_fd);
  if (!fd) {
    return propagate(fd);
  }
  uint64_t id = 0;
  if (::ioctl(fd->get(), PERF_EVENT_IOC_ID, &id) != 0) {
    return fail_errno(errno, "asking for the ID of event {}", name);
  }
  index_by_id_[id] = static_cast<int>(part.index);
  if (ring_fd < 0) {
    if (auto mapped = map_ring(fd->get(), options_.sample_pages); !mapped) {
      return mapped;
    }
    ring_fd = fd->get();
  } else if (::ioctl(fd->get(), PERF_EVENT_IOC_SET_OUTPUT, ring_fd) != 0) {
    return fail_errno(errno, "sharing a ring buffer on CPU {}", cpu);
  }
  events_.push_back({std::move(*fd), part, part.mean_period});
  return {};
}

Status Sampler::map_ring(int fd, uint32_t pages) {
  auto ring = RingBuffer::map(fd, pages);
  if (!ring) {
    return propagate(ring);
  }
  ring_fds_.push_back(fd);
  rings_.push_back(std::move(*ring));
  return {};
}

Status Sampler::open_side_band(int cpu) {
  auto side_band = open_event(side_band_attr(half_of_pages(options_.side_band_pages)), cpu, "side band");
  if (!side_band) {
    return propagate(side_band);
  }
  if (auto mapped = map_ring(side_band->get(), options_.side_band_pages); !mapped) {
    return mapped;
  }
  side_band_.push_back(std::move(*side_band));
  return {};
}

void Sampler::reckon_ticks(OpenEvent& event, bool goes_on) const {
  const int64_t now_ns = monotonic_now_ns();
  if (event.period_start_ns != 0 && type_of(event).is_clock) {
    event.ticks_due += static_cast<uint64_t>(now_ns - event.period_start_ns) / event.period;
  }
  event.period_start_ns = goes_on ? now_ns : 0;
}

Status Sampler::enable_side_band() {
  for (const UniqueFd& fd : side_band_) {
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "enabling the side band");
    }
  }
  return {};
}

Status Sampler::enable() {
  // Before the first sample: the periods may be those of another slowdown.
  if (auto redrawn = redraw_periods(); !redrawn) {
    return redrawn;
  }
  if (auto enabled = enable_side_band(); !enabled) {
    return enabled;
  }
  for (OpenEvent& event : events_) {
    if (event.part.leads && ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "enabling event {}", type_of(event).name);
    }
    reckon_ticks(event, true);
  }
  return {};
}

Status Sampler::disable() {
  Status disabled;
  for (OpenEvent& event : events_) {
    reckon_ticks(event, false);
    if (event.part.leads && ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0) != 0) {
      disabled = fail_errno(errno, "disabling event {}", type_of(event).name);
    }
  }
  wait_for_samples_being_written();
  return disabled;
}

Status Sampler::redraw_period(OpenEvent& event) {
  constexpr uint64_t kLongestPeriod = uint64_t{1}
                                      << 62;  // the kernel wants half again as much to have a sign bit
  uint64_t period = event.part.mean_period > kLongestPeriod / slowdown_ ? kLongestPeriod
                                                                        : event.part.mean_period * slowdown_;
  const bool is_fixed = slowdown_ == 1 && !options_.events[event.part.index].random_period;
  if (!is_fixed) {
    std::uniform_int_distribution<uint64_t> draw(std::max<uint64_t>(1, period - period / 2),
                                                 period + period / 2);
    period = draw(random_);
  } else if (period == event.period) {
    return {};
  }
  if (::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period) != 0) {
    return fail_errno(errno, "setting the period of event {}", type_of(event).name);
  }
  reckon_ticks(event, event.period_start_ns != 0);
  event.period = period;
  return {};
}

Status Sampler::redraw_periods() {
  for (OpenEvent& event : events_) {
    if (auto redrawn = redraw_period(event); !redrawn) {
      return redrawn;
    }
  }
  return {};
}

Result<bool> Sampler::wait(int64_t deadline_ns, int wake_fd) const {
  std::vector<pollfd> polled;
  polled.reserve(ring_fds_.size() + 1);
  for (const int fd : ring_fds_) {
    polled.push_back({fd, POLLIN, 0});
  }
  if (wake_fd >= 0) {
    polled.push_back({wake_fd, POLLIN, 0});
  }
  const int64_t left_ns = std::max<int64_t>(0, deadline_ns - monotonic_now_ns());
  const timespec timeout{left_ns / kNsPerSecond, left_ns % kNsPerSecond};
  if (::ppoll(polled.data(), polled.size(), &timeout, nullptr) < 0 && errno != EINTR) {
    return fail_errno(errno, "waiting for samples");
  }
  return wake_fd >= 0 && polled.back().revents != 0;
}

void Sampler::collect() {
  pending_.clear();
  for (size_t i = 0; i < rings_.size(); ++i) {
    rings_[i].peek(
        [&](Bytes record, uint64_t end) { pending_.push_back({record_time_ns(record), i, end, record}); });
  }
}

void Sampler::tell_of_side_band_losses() {
  // After the records were collected: what was lost in their time has been counted by now.
  const auto lost = side_band_lost();
  const bool is_more = !lost || *lost != side_band_lost_;
  side_band_lost_ = lost.value_or(side_band_lost_);
  if (is_more && options_.on_side_band_lost) {
    options_.on_side_band_lost();
  }
}

int64_t Sampler::settled_before(int64_t before_ns) const {
  int64_t settled_ns = before_ns;
  do {
    before_ns = settled_ns;
    size_t young_ring = rings_.size();
    for (const Pending& record : pending_) {
      if (record.time_ns >= before_ns) {
        young_ring = record.ring;
      } else if (record.ring == young_ring) {
        settled_ns = std::min(settled_ns, record.time_ns);
      }
    }
  } while (settled_ns < before_ns);
  return settled_ns;
}

void Sampler::deliver(int64_t before_ns, const std::function<void(Bytes record)>& consume) {
  before_ns = settled_before(before_ns);
  std::erase_if(pending_, [&](const Pending& record) { return record.time_ns >= before_ns; });
  // Equal times keep the order in which they lie in the rings.
  std::ranges::sort(pending_, {}, [](const Pending& record) {
    return std::tuple(record.time_ns, record.ring, record.end);
  });
  std::vector<std::optional<uint64_t>> ends(rings_.size());
  for (const Pending& record : pending_) {
    consume(record.bytes);
    ends[record.ring] = std::max(ends[record.ring].value_or(0), record.end);
  }
  for (size_t i = 0; i < rings_.size(); ++i) {
    if (const std::optional<uint64_t> end = ends[i]) {
      rings_[i].release(*end);
    }
  }
  pending_.clear();
}

void Sampler::drain(const std::function<void(Bytes record)>& consume) {
  const int64_t start_ns = monotonic_now_ns();
  collect();
  tell_of_side_band_losses();
  deliver(start_ns, consume);
}

void Sampler::drain_all(const std::function<void(Bytes record)>& consume) {
  collect();
  tell_of_side_band_losses();
  deliver(INT64_MAX, consume);
}

Result<std::vector<EventCounts>> Sampler::read_counts() const {
  std::vector<EventCounts> counts(options_.events.size());
  for (const OpenEvent& event : events_) {
    const auto values = read_counter(event.fd);
    if (!values) {
      return propagate(values);
    }
    EventCounts& sum = counts[event.part.index];
    if (event.part.leads) {
      sum.total += values->value;
      sum.time_enabled_ns += values->time_enabled_ns;
      sum.time_running_ns += values->time_running_ns;
    }
    sum.lost += values->lost;
    sum.ticks_due += event.ticks_due;
  }
  return counts;
}

Result<uint64_t> Sampler::side_band_lost() const {
  uint64_t lost = 0;
  for (const UniqueFd& fd : side_band_) {
    const auto values = read_counter(fd);
    if (!values) {
      return propagate(values);
    }
    lost += values->lost;
  }
  return lost;
}

uint64_t Sampler::dropped_bytes() const {
  uint64_t bytes = 0;
  for (const RingBuffer& ring : rings_) {
    bytes += ring.dropped_bytes();
  }
  return bytes;
}

int Sampler::event_index(uint64_t event_id) const {
  const auto found = index_by_id_.find(event_id);
  return found == index_by_id_.end() ? -1 : found->second;
}

}  // namespace plimsoll::perf
