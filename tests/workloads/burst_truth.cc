#include "tests/workloads/burst_truth.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "appprof/marks.h"
#include "base/time.h"

namespace plimsoll::testing {
namespace {

void append(const ClockReadings& readings, std::string& text) {
  text += fmt::format(" {} {} {}", readings.time_ns, readings.cpu_ns, readings.runnable_ns);
}

uint64_t address_of(const void* lock) {
  return reinterpret_cast<uintptr_t>(lock);
}

uint64_t spin(uint64_t steps) {
  uint64_t state = steps;
  for (uint64_t i = 0; i < steps; ++i) {
    state = state * 6364136223846793005U + 1;
  }
  return state;
}

// So that the compiler computes it.
void keep(uint64_t result) {
  [[maybe_unused]] volatile uint64_t kept = result;
}

}  // namespace

ThreadTruth::ThreadTruth(uint64_t config, const std::string& name)
    : config_(config), name_(name), schedstat_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {
  ::pthread_setname_np(::pthread_self(), name_.c_str());
}

ClockReadings ThreadTruth::read_time_last() const {
  ClockReadings readings{.time_ns = 0, .cpu_ns = thread_cpu_ns(), .runnable_ns = 0};
  std::array<char, 128> text{};
  long long ran_ns = 0;
  long long runnable_ns = 0;
  if (::pread(schedstat_, text.data(), text.size() - 1, 0) > 0 &&
      std::sscanf(text.data(), "%lld %lld", &ran_ns, &runnable_ns) == 2) {
    readings.runnable_ns = runnable_ns;
  }
  readings.time_ns = monotonic_now_ns();
  return readings;
}

ClockReadings ThreadTruth::read_time_first() const {
  const int64_t time_ns = monotonic_now_ns();
  ClockReadings readings = read_time_last();
  readings.time_ns = time_ns;
  return readings;
}

void ThreadTruth::begin_segment(int mark, uint64_t request) {
  now_.request = request;
  now_.before = read_time_first();
  plimsoll_mark(config_, mark, request);
  now_.begin = read_time_last();
}

void ThreadTruth::end_segment(int mark, uint64_t value) {
  now_.end = read_time_first();
  plimsoll_mark(config_, mark, value);
  now_.after = read_time_last();
  segments_.push_back(now_);
}

void ThreadTruth::start(uint64_t request) {
  begin_segment(PLIMSOLL_START, request);
}

void ThreadTruth::take(uint64_t request) {
  begin_segment(PLIMSOLL_SWITCH, request);
}

void ThreadTruth::leave() {
  end_segment(PLIMSOLL_SWITCH, 0);
}

void ThreadTruth::stop() {
  end_segment(PLIMSOLL_STOP, now_.request);
}

void ThreadTruth::idle() const {
  plimsoll_mark(config_, PLIMSOLL_SWITCH, 0);
}

void ThreadTruth::lock_wait(const void* lock) const {
  plimsoll_mark(config_, PLIMSOLL_LOCK_WAIT, address_of(lock));
}

void ThreadTruth::lock_got(const void* lock) const {
  plimsoll_mark(config_, PLIMSOLL_LOCK_GOT, address_of(lock));
}

void ThreadTruth::print() const {
  std::string text = fmt::format("thread {}\n", name_);
  for (const TruthSegment& segment : segments_) {
    text += fmt::format("segment {} {:x}", name_, segment.request);
    for (const ClockReadings& readings : {segment.before, segment.begin, segment.end, segment.after}) {
      append(readings, text);
    }
    text += "\n";
  }
  fmt::print("{}", text);
}

Work::Work() {
  constexpr uint64_t kSteps = 4'000'000;
  constexpr double kNsPerUs = 1000;
  const int64_t start_ns = thread_cpu_ns();
  keep(spin(kSteps));
  const int64_t took_ns = thread_cpu_ns() - start_ns;
  steps_per_us_ = static_cast<double>(kSteps) * kNsPerUs / static_cast<double>(took_ns > 0 ? took_ns : 1);
}

void Work::run_us(int64_t us) const {
  keep(spin(static_cast<uint64_t>(static_cast<double>(us) * steps_per_us_)));
}

}  // namespace plimsoll::testing
