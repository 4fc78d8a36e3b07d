#include "daemon/sampling/sampler.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <optional>
#include <set>
#include <tuple>

#include "base/time.h"
#include "daemon/sampling/open_event.h"

namespace plimsoll::perf {
namespace {

uint32_t half_of_pages(uint32_t pages) {
  return pages * static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

// The mean period of a part of an event's samples.
uint64_t period_of_share(const SampledEvent& event, double share) {
  return static_cast<uint64_t>(std::max(1.0, std::round(static_cast<double>(event.mean_period) / share)));
}

}  // namespace

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), random_(options_.seed) {
  for (const SampledEvent& event : options_.events) {
    if (event.set != kEverySet) {
      waiting_.try_emplace(event.set);
    }
  }
  std::vector<uint32_t> sets;
  for (const auto& [set, waiting] : waiting_) {
    sets.push_back(set);
  }
  turns_ = Turns(std::move(sets));
}

Result<Sampler> Sampler::open(SamplerOptions options) {
  Sampler sampler(std::move(options));
  auto reader = RingReader::make(sampler.options_.max_backlog_bytes);
  if (!reader) {
    return propagate(reader);
  }
  sampler.reader_ = std::move(*reader);
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
  const EventCode* const code = code_on(event.type, cpu);
  if (code == nullptr) {
    return {};
  }
  const uint32_t wakeup_bytes = half_of_pages(options_.sample_pages);
  if (event.with_branches) {
    const Part part = part_of(index, 1, true);
    perf_event_attr attr = branch_sampling_attr(event.type, part.mean_period, wakeup_bytes);
    set_code(*code, attr);
    return open_one(part, attr, cpu, -1, ring_fd);
  }
  int leader_fd = -1;
  if (event.stack_share > 0) {
    const Part part = part_of(index, event.stack_share, true);
    perf_event_attr attr = sampling_attr(event.type, part.mean_period, wakeup_bytes, options_.stack_bytes);
    set_code(*code, attr);
    const auto opened = open_one(part, attr, cpu, leader_fd, ring_fd);
    if (!opened || event.stack_share >= 1) {
      return opened;
    }
    leader_fd = events_.back().fd.get();
  }
  const Part part = part_of(index, 1 - event.stack_share, leader_fd < 0);
  perf_event_attr attr = bare_sampling_attr(event.type, part.mean_period, wakeup_bytes);
  set_code(*code, attr);
  attr.disabled = part.leads ? 1 : 0;  // otherwise it goes with its leader
  const auto opened = open_one(part, attr, cpu, leader_fd, ring_fd);
  return opened || part.leads ? opened
                              : propagate(opened, "counting it twice, for samples with and without stacks");
}

Sampler::Part Sampler::part_of(size_t index, double share, bool leads) const {
  return {.index = index,
          .leads = leads,
          .share = share,
          .mean_period = period_of_share(options_.events[index], share)};
}

Status Sampler::open_one(Part part, const perf_event_attr& attr, int cpu, int leader_fd, int& ring_fd) {
  const std::string& name = options_.events[part.index].type.name;
  auto fd = open_event(attr, cpu, name, leader_fd);
  if (!fd) {
    return propagate(fd);
  }
  uint64_t id = 0;
  if (::ioctl(fd->get(), PERF_EVENT_IOC_ID, &id) != 0) {
    return fail_errno(errno, "asking for the ID of event {}", name);
  }
  index_by_id_[id] = static_cast<int>(part.index);
  if (options_.events[part.index].with_branches) {
    branch_events_.insert(id);
  }
  if (ring_fd < 0) {
    if (auto mapped = map_ring(fd->get(), options_.sample_pages); !mapped) {
      return mapped;
    }
    ring_fd = fd->get();
  } else if (::ioctl(fd->get(), PERF_EVENT_IOC_SET_OUTPUT, ring_fd) != 0) {
    return fail_errno(errno, "sharing a ring buffer on CPU {}", cpu);
  }
  events_.push_back({.fd = std::move(*fd), .part = part, .period = part.mean_period});
  return {};
}

Status Sampler::map_ring(int fd, uint32_t pages) {
  auto ring = RingBuffer::map(fd, pages);
  if (!ring) {
    return propagate(ring);
  }
  reader_->add(std::move(*ring), fd);
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

Result<bool> Sampler::wait(int64_t deadline_ns, int wake_fd) const {
  std::array<pollfd, 2> polled{{{reader_->ready_fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
  const int64_t left_ns = std::max<int64_t>(0, deadline_ns - monotonic_now_ns());
  const timespec timeout{left_ns / kNsPerSecond, left_ns % kNsPerSecond};
  if (::ppoll(polled.data(), wake_fd >= 0 ? 2 : 1, &timeout, nullptr) < 0 && errno != EINTR) {
    return fail_errno(errno, "waiting for samples");
  }
  return wake_fd >= 0 && polled[1].revents != 0;
}

bool Sampler::collect() {
  std::vector<RingReader::Record> records;
  const bool is_all = reader_->take(records);
  for (const RingReader::Record& record : records) {
    pending_.push_back({record_time_ns(record.bytes), read_++, record});
  }
  return is_all;
}

void Sampler::report_side_band_losses() {
  // After the records were collected: what was lost in their time has been counted by now.
  const auto lost = side_band_lost();
  const bool is_more = !lost || *lost != side_band_lost_;
  side_band_lost_ = lost.value_or(side_band_lost_);
  if (is_more && options_.on_side_band_lost) {
    options_.on_side_band_lost();
  }
}

int64_t Sampler::settled_before(int64_t before_ns) const {
  // pending_ has the records of a ring in their order, and those of several rings among each other.
  int64_t settled_ns = before_ns;
  do {
    before_ns = settled_ns;
    std::set<size_t> young_rings;
    for (const Pending& pending : pending_) {
      if (pending.time_ns >= before_ns) {
        young_rings.insert(pending.record.ring);
      } else if (young_rings.contains(pending.record.ring)) {
        settled_ns = std::min(settled_ns, pending.time_ns);
      }
    }
  } while (settled_ns < before_ns);
  return settled_ns;
}

int64_t Sampler::deliver(int64_t before_ns, const std::function<void(Bytes record)>& consume) {
  before_ns = settled_before(before_ns);
  // Those that wait keep their order.
  std::vector<Pending> due;
  std::vector<Pending> waiting;
  for (const Pending& pending : pending_) {
    (pending.time_ns < before_ns ? due : waiting).push_back(pending);
  }
  pending_ = std::move(waiting);
  // Equal times keep the order in which they were read.
  std::ranges::sort(due, {}, [](const Pending& pending) {
    return std::tuple(pending.time_ns, pending.record.ring, pending.number);
  });
  std::vector<RingReader::Record> done;
  done.reserve(due.size());
  for (const Pending& pending : due) {
    consume(pending.record.bytes);
    done.push_back(pending.record);
  }
  reader_->give_back(done);
  return before_ns;
}

int64_t Sampler::drain(const std::function<void(Bytes record)>& consume) {
  const int64_t start_ns = monotonic_now_ns();
  collect();
  report_side_band_losses();
  return deliver(start_ns, consume);
}

void Sampler::drain_all(const std::function<void(Bytes record)>& consume) {
  bool is_all = false;
  while (!is_all) {
    is_all = collect();
    report_side_band_losses();
    deliver(INT64_MAX, consume);
  }
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
  return reader_->dropped_bytes();
}

int Sampler::event_index(uint64_t event_id) const {
  const auto found = index_by_id_.find(event_id);
  return found == index_by_id_.end() ? -1 : found->second;
}

}  // namespace plimsoll::perf
