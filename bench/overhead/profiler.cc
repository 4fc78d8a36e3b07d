#include "bench/overhead/profiler.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "proto/profile_codec.h"

namespace plimsoll::bench {
namespace {

constexpr auto kLongestStart = std::chrono::seconds(20);
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

bool has_perf_events(pid_t pid) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry->path(), gone) == "anon_inode:[perf_event]") {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<Profiler> Profiler::start(const ScratchFolder& folder) {
  const std::string output = folder / "overhead.profile";
  const std::string log = folder / "plimsolld.out";
  auto child = Child::start({sibling_program("plimsolld"), "--once", "3600", "--output", output}, log);
  if (!child) {
    return propagate(child);
  }
  const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
  while (!has_perf_events(child->pid())) {
    if (std::chrono::steady_clock::now() > deadline) {
      return with_hint(fail(ErrorCode::kUnavailable, "plimsolld does not sample: {}",
                            read_file(log, 4096).value_or(std::string())),
                       "this benchmark needs the privileges of plimsolld");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return Profiler(std::move(*child), output);
}

Result<Profiler::Collected> Profiler::stop() {
  ::kill(child_.pid(), SIGTERM);
  const auto usage = child_.wait();
  const auto bytes = usage ? read_file(output_, wire::ProfileLimits().max_encoded_bytes) : propagate(usage);
  const auto profile = bytes ? wire::decode(as_bytes(*bytes)) : propagate(bytes);
  if (!profile) {
    return propagate(profile);
  }
  Collected collected{.cpu_s = usage->cpu_s};
  // Others come along in few samples, or are counts.
  collected.samples = profile->events().empty() ? 0 : profile->events(0).hits();
  const wire::Window& window = profile->window();
  collected.seconds = static_cast<double>(window.end().monotonic_ns() - window.start().monotonic_ns()) / 1e9;
  return collected.samples > 0 ? Result<Collected>(collected)
                               : fail(ErrorCode::kNotFound, "plimsolld took no samples");
}

}  // namespace plimsoll::bench
