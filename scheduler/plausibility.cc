#include "scheduler/plausibility.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/time.h"
#include "proto/profile_codec.h"

namespace plimsoll::scheduler {
namespace {

constexpr int64_t kDayNs = 24 * kNsPerHour;
constexpr int64_t kYear2000Ns = 946'684'800 * kNsPerSecond;
// Windows are an hour at most (limits.max_window); one that a suspended machine slept through is longer.
constexpr int64_t kLongestWindowNs = kDayNs;

// For a machine that does not tell, and for one that tells more: the largest that Linux runs on have 8,192.
constexpr double kMaxCores = 8192;
// Timers and clocks are read a moment apart, a CPU may come online within the window.
constexpr double kSlack = 1.25;
constexpr double kSlackS = 1;

// A second, on each CPU. The fastest retires 10 instructions a cycle at 10 GHz.
constexpr double kMaxCounted = 1e11;
constexpr double kMaxMicrojoules = 2e9;  // 2 kW
// Of what applications hold, or have passed through their allocators: 16 PiB.
constexpr double kMaxBytes = 0x1p54;
// What is allocated at once need not be touched; each object takes a byte at least.
constexpr double kOvercommit = 16;
constexpr double kMaxMemory =
    0x1p48;  // for a machine that does not tell, and for one that tells more: 256 TiB
// Threads that wait for one lock wait as often as there are threads.
constexpr double kMaxWaiting = 1e6;

constexpr std::array<std::string_view, 3> kCpuTimes{"cpu-clock", "task-clock", "cpu-time"};

struct Machine {
  double cores;
  double window_s;
  double memory_bytes;
};

double most_of(const wire::Event& event, const Machine& machine) {
  const double core_seconds = machine.cores * (machine.window_s + kSlackS) * kSlack;
  switch (event.unit()) {
    case wire::NANOSECONDS: {
      const bool is_cpu_time = std::ranges::find(kCpuTimes, event.name()) != kCpuTimes.end();
      return core_seconds * 1e9 * (is_cpu_time ? 1 : kMaxWaiting);
    }
    case wire::BYTES:
      return event.kind() == wire::SNAPSHOT ? machine.memory_bytes * kOvercommit : kMaxBytes;
    case wire::MICROJOULES:
      return core_seconds * kMaxMicrojoules;
    default:
      return event.kind() == wire::SNAPSHOT ? machine.memory_bytes * kOvercommit : core_seconds * kMaxCounted;
  }
}

Status check_window(const wire::Window& window, int64_t now_ns) {
  const int64_t length_ns = window.end().monotonic_ns() - window.start().monotonic_ns();
  if (length_ns > kLongestWindowNs) {
    return with_field(
        fail(ErrorCode::kInvalid, "a window of {} is longer than a day", format_duration(length_ns)),
        "window");
  }
  if (window.end().wall_ns() > now_ns + kDayNs || window.start().wall_ns() < kYear2000Ns) {
    return with_field(fail(ErrorCode::kInvalid, "the window is at {}: the machine's clock is wrong",
                           format_time(window.start().wall_ns())),
                      "window");
  }
  return {};
}

Status check_event(const wire::Event& event, const Machine& machine) {
  if (event.kind() == wire::SQUARES) {
    return {};  // of no value by themselves
  }
  const double most = most_of(event, machine);
  // As it was counted, and as rows will have it, scaled to the time in which it was not.
  const double scaled = wire::scale_of(event) * static_cast<double>(event.hits());
  if (event.counter_total() <= most && scaled <= most) {
    return {};
  }
  return fail(ErrorCode::kInvalid,
              "{} counts {:.3g} in {:.3g} s on {} CPUs, over the possible maximum of {:.3g}", event.name(),
              std::max(event.counter_total(), scaled), machine.window_s, machine.cores, most);
}

}  // namespace

Status check_plausible(const wire::RawProfile& profile, int64_t now_ns) {
  const wire::Window& window = profile.window();
  if (auto checked = check_window(window, now_ns); !checked) {
    return checked;
  }
  const uint32_t cores = profile.machine().cores();
  const auto memory = static_cast<double>(profile.machine().memory_bytes());
  const Machine machine{
      .cores = cores == 0 ? kMaxCores : std::min<double>(cores, kMaxCores),
      .window_s = static_cast<double>(window.end().monotonic_ns() - window.start().monotonic_ns()) / 1e9,
      .memory_bytes = memory == 0 ? kMaxMemory : std::min(memory, kMaxMemory)};
  for (int i = 0; i < profile.events_size(); ++i) {
    if (auto checked = check_event(profile.events(i), machine); !checked) {
      return with_field(propagate(checked), fmt::format("events[{}].counter_total", i));
    }
  }
  return {};
}

}  // namespace plimsoll::scheduler
