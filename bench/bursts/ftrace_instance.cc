#include "bench/bursts/ftrace_instance.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "daemon/events/tracepoints.h"

namespace plimsoll::bench {
namespace {

Status write_setting(const std::string& path, const std::string& value) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  const bool is_written =
      file.valid() && ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
  return is_written ? Status() : fail_errno(errno, "writing {} to {}", value, path);
}

}  // namespace

Result<FtraceInstance> FtraceInstance::record_getpid() {
  const auto tracefs = perf::find_tracefs("/sys");
  if (!tracefs) {
    return propagate(tracefs);
  }
  const std::string folder = fmt::format("{}/instances/plimsoll-bench-{}", *tracefs, ::getpid());
  if (::mkdir(folder.c_str(), 0700) != 0) {
    return fail_errno(errno, "making the ftrace instance {}", folder);
  }
  FtraceInstance instance(folder);
  const std::string event = folder + "/events/raw_syscalls/sys_enter";
  const Status filtered = write_setting(event + "/filter", fmt::format("id=={}", SYS_getpid));
  const Status enabled = filtered ? write_setting(event + "/enable", "1") : filtered;
  return enabled ? Result<FtraceInstance>(std::move(instance)) : propagate(enabled);
}

FtraceInstance::FtraceInstance(FtraceInstance&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

FtraceInstance::~FtraceInstance() {
  if (!folder_.empty()) {
    // What cannot be disabled is removed with its instance.
    static_cast<void>(write_setting(folder_ + "/events/raw_syscalls/sys_enter/enable", "0").has_value());
    ::rmdir(folder_.c_str());
  }
}

}  // namespace plimsoll::bench
