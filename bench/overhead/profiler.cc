#include "bench/overhead/profiler.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "proto/profile_codec.h"

namespace plimsoll::bench {
namespace {

constexpr auto kLongestStart = std::chrono::seconds(20);
// It opens its events one right after the other: when none has come for so long, all are there.
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
// Twice what it lets samples lie in the rings.
constexpr auto kDigestion = std::chrono::milliseconds(200);

// Numbers of its file descriptors that are events.
std::vector<int> events_of(pid_t pid) {
  std::vector<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::string name = entry->path().filename();
    int number = 0;
    if (std::filesystem::read_symlink(entry->path(), gone) == "anon_inode:[perf_event]" &&
        std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

Result<std::vector<int>> wait_for_events_of(pid_t pid, const std::string& log) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
  std::vector<int> before;
  while (std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kBetweenLooks);
    std::vector<int> now = events_of(pid);
    if (!now.empty() && now.size() == before.size()) {
      return now;
    }
    before = std::move(now);
  }
  return with_hint(fail(ErrorCode::kUnavailable, "plimsolld does not sample: {}",
                        read_file(log, 4096).value_or(std::string())),
                   "this benchmark needs the privileges of plimsolld");
}

// glibc 2.36 has pidfd_getfd, but only since then; the call itself is older.
Result<std::vector<UniqueFd>> copies_of(pid_t pid, const std::vector<int>& numbers) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    return fail_errno(errno, "opening process {}", pid);
  }
  std::vector<UniqueFd> copies;
  for (const int number : numbers) {
    copies.emplace_back(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    if (!copies.back().valid()) {
      return fail_errno(errno, "copying file descriptor {} of process {}", number, pid);
    }
  }
  return copies;
}

}  // namespace

Result<Profiler> Profiler::start(const ScratchFolder& folder) {
  const std::string output = folder / "overhead.profile";
  const std::string log = folder / "plimsolld.out";
  auto child = Child::start({sibling_program("plimsolld"), "--once", "3600", "--output", output}, log);
  if (!child) {
    return propagate(child);
  }
  const auto numbers = wait_for_events_of(child->pid(), log);
  auto events = numbers ? copies_of(child->pid(), *numbers) : propagate(numbers);
  if (!events) {
    return propagate(events);
  }
  return Profiler(std::move(*child), output, std::move(*events));
}

Status Profiler::switch_events(bool on) {
  for (const UniqueFd& event : events_) {
    if (::ioctl(event.get(), on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) != 0) {
      return fail_errno(errno, "switching an event of plimsolld {}", on ? "on" : "off");
    }
  }
  std::this_thread::sleep_for(kDigestion);
  return {};
}

Result<double> Profiler::cpu_s() const {
  clockid_t clock = 0;
  timespec time{};
  if (const int error = ::clock_getcpuclockid(child_.pid(), &clock); error != 0) {
    return fail_errno(error, "finding the CPU time of plimsolld");
  }
  if (::clock_gettime(clock, &time) != 0) {
    return fail_errno(errno, "reading the CPU time of plimsolld");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Result<uint64_t> Profiler::stop() {
  events_.clear();
  ::kill(child_.pid(), SIGTERM);
  const auto usage = child_.wait();
  const auto bytes = usage ? read_file(output_, wire::ProfileLimits().max_encoded_bytes) : propagate(usage);
  const auto profile = bytes ? wire::decode(as_bytes(*bytes)) : propagate(bytes);
  if (!profile) {
    return propagate(profile);
  }
  // Others come along in few samples, or are counts.
  const uint64_t samples = profile->events().empty() ? 0 : profile->events(0).hits();
  return samples > 0 ? Result<uint64_t>(samples) : fail(ErrorCode::kNotFound, "plimsolld took no samples");
}

}  // namespace plimsoll::bench
