#include "bench/symbolizer/measured_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

constexpr std::chrono::milliseconds kInterval{1};
constexpr uint64_t kKibibyte = 1024;

// 0 once it has ended.
uint64_t anonymous_bytes(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/status", pid), 1 << 16).value_or(std::string());
  constexpr std::string_view kKey = "RssAnon:";
  const size_t key = text.find(kKey);
  const size_t digits = key == std::string::npos ? key : text.find_first_of("0123456789", key);
  uint64_t kibibytes = 0;
  if (digits != std::string::npos) {
    std::from_chars(text.data() + digits, text.data() + text.size(), kibibytes);
  }
  return kibibytes * kKibibyte;
}

// Looks at a process until it is destroyed.
class MemoryWatch {
 public:
  explicit MemoryWatch(pid_t pid)
      : thread_([this, pid](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            peak_ = std::max(peak_.load(), anonymous_bytes(pid));
            std::this_thread::sleep_for(kInterval);
          }
        }) {}

  uint64_t peak() const { return peak_; }

 private:
  std::atomic<uint64_t> peak_ = 0;
  std::jthread thread_;
};

}  // namespace

Result<RunCost> run_measured(const std::vector<std::string>& argv) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto child = Child::start(argv);
  if (!child) {
    return propagate(child);
  }
  const MemoryWatch watch(child->pid());
  const auto usage = child->wait();
  if (!usage) {
    return propagate(usage);
  }
  return RunCost{.cpu_s = usage->cpu_s,
                 .wall_s = std::chrono::duration<double>(Clock::now() - start).count(),
                 .peak_anonymous_bytes = watch.peak()};
}

}  // namespace plimsoll::bench
