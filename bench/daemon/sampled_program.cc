#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <thread>

#include "bench/daemon/parts.h"
#include "bench/harness/statistics.h"
#include "daemon/events/cpu_list.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/sampler.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalUs = 4;
// Far more than an agent takes, so that what they cost stands out from the noise of the machine.
constexpr uint32_t kRateHz = 4000;
constexpr uint32_t kRingPages = 2048;
constexpr size_t kDeepBytes = size_t{64} << 10;

void run_on(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(cpu), &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

// Restores where this thread may run.
class Pinned {
 public:
  explicit Pinned(int cpu) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    run_on(cpu);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

// Arithmetic, and reads of memory that fits the second-level cache, so that what a sample pushes out is paid for.
uint64_t work(uint64_t steps) {
  static std::vector<uint64_t> memory(size_t{32} << 10, 1);
  uint64_t state = 88172645463325252;
  for (uint64_t i = 0; i < steps; ++i) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    state += memory[state % memory.size()];
  }
  return state;
}

// With a stack below it that is deeper than what a sample copies.
[[gnu::noinline]] uint64_t work_deep_down(uint64_t steps) {
  std::array<volatile char, kDeepBytes> stack;
  for (volatile char& byte : stack) {
    byte = 1;
  }
  return work(steps) + static_cast<uint64_t>(stack.front());
}

// One event on one CPU, drained by a thread on another one; counts the samples of one thread.
class Drained {
 public:
  static Result<std::unique_ptr<Drained>> start(const perf_event_attr& attr, int cpu, int reader_cpu) {
    auto fd = perf::open_event(attr, cpu, "cpu-clock");
    auto ring = fd ? perf::RingBuffer::map(fd->get(), kRingPages) : propagate(fd);
    if (!ring) {
      return propagate(ring);
    }
    std::unique_ptr<Drained> drained(new Drained(std::move(*fd), std::move(*ring)));
    drained->reader_ = std::jthread([self = drained.get(), reader_cpu](const std::stop_token& stop) {
      run_on(reader_cpu);
      self->drain_until(stop);
    });
    return drained;
  }

  Status enable() {
    return ::ioctl(fd_.get(), PERF_EVENT_IOC_ENABLE, 0) == 0 ? Status()
                                                             : fail_errno(errno, "enabling cpu-clock");
  }

  // The samples of the thread since the start. Ends the drain.
  uint64_t stop() {
    ::ioctl(fd_.get(), PERF_EVENT_IOC_DISABLE, 0);
    reader_.request_stop();
    reader_.join();
    return samples_;
  }

 private:
  Drained(UniqueFd fd, perf::RingBuffer ring)
      : fd_(std::move(fd)), ring_(std::move(ring)), tid_(static_cast<uint32_t>(::gettid())) {}

  void drain_until(const std::stop_token& stop) {
    bool is_last = false;
    while (!is_last) {
      is_last = stop.stop_requested();
      drain();
      pollfd polled{fd_.get(), POLLIN, 0};
      ::poll(&polled, 1, is_last ? 0 : 5);
    }
  }

  void drain() {
    std::optional<uint64_t> last_end;
    ring_.peek([&](Bytes record, uint64_t end) {
      count(record);
      last_end = end;
    });
    if (last_end) {
      ring_.release(*last_end);
    }
  }

  void count(Bytes record) {
    ByteReader reader(record);
    const auto header = reader.read<perf_event_header>();
    reader.skip(2 * sizeof(uint64_t) + sizeof(uint32_t));  // identifier, instruction pointer, process
    samples_ += header.type == PERF_RECORD_SAMPLE && reader.read<uint32_t>() == tid_ ? 1 : 0;
  }

  UniqueFd fd_;
  perf::RingBuffer ring_;
  uint32_t tid_;
  uint64_t samples_ = 0;  // the reader's, until it has been joined
  std::jthread reader_;
};

perf_event_attr attr_of(uint32_t stack_bytes) {
  const perf::EventType cpu_clock = *perf::find_event("cpu-clock");
  const auto wakeup_bytes = static_cast<uint32_t>(kRingPages * 4096 / 4);
  const uint64_t period = perf::mean_period(cpu_clock, kRateHz);
  return stack_bytes == 0 ? perf::bare_sampling_attr(cpu_clock, period, wakeup_bytes)
                          : perf::sampling_attr(cpu_clock, period, wakeup_bytes, stack_bytes);
}

double work_cpu_us(uint64_t steps) {
  const int64_t start_ns = thread_cpu_ns();
  keep(work_deep_down(steps));
  return static_cast<double>(thread_cpu_ns() - start_ns) / 1e3;
}

struct Sampled {
  double cpu_us = 0;
  double samples = 0;
};

Result<Sampled> sampled_work(uint32_t stack_bytes, uint64_t steps, int cpu, int reader_cpu) {
  auto drained = Drained::start(attr_of(stack_bytes), cpu, reader_cpu);
  if (!drained) {
    return propagate(drained);
  }
  if (auto enabled = (*drained)->enable(); !enabled) {
    return propagate(enabled);
  }
  const double cpu_us = work_cpu_us(steps);
  return Sampled{cpu_us, static_cast<double>((*drained)->stop())};
}

// Steps that take about that long.
uint64_t steps_for(double us) {
  constexpr uint64_t kTrial = 2'000'000;
  work_cpu_us(kTrial);
  return static_cast<uint64_t>(static_cast<double>(kTrial) * us / work_cpu_us(kTrial));
}

}  // namespace

Status measure_sampled_program(const Flags& flags, Report& report) {
  const auto cpus = perf::online_cpus();
  if (!cpus || cpus->size() < 2) {
    return cpus ? fail(ErrorCode::kUnsupported, "a second CPU is needed, to read samples on")
                : propagate(cpus);
  }
  const int cpu = cpus->back();
  const Pinned pinned(cpu);
  const uint64_t steps = steps_for(flags.quick ? 100e3 : 250e3);
  std::vector<double> bare_us;
  std::vector<double> extra_us;
  for (int round = 0; round < (flags.quick ? 11 : 61); ++round) {
    const double unsampled_us = work_cpu_us(steps);
    const auto bare = sampled_work(0, steps, cpu, cpus->front());
    const auto full = sampled_work(kStackBytes, steps, cpu, cpus->front());
    if (!bare || !full) {
      return bare ? propagate(full) : propagate(bare);
    }
    bare_us.push_back((bare->cpu_us - unsampled_us) / bare->samples);
    extra_us.push_back((full->cpu_us - unsampled_us) / full->samples - bare_us.back());
  }
  report.add({.name = "sampled-program-bare-us",
              .value = median(bare_us),
              .unit = "us",
              .note = fmt::format("a cpu-clock sample without stack and registers, at {} Hz", kRateHz)});
  report.add({.name = "sampled-program-extra-us",
              .value = median(extra_us),
              .unit = "us",
              .goal = kGoalUs,
              .note = "above a bare sample, with call chain, registers and 16 KiB of stack"});
  return {};
}

}  // namespace plimsoll::bench
