#include "tests/e2e/tracing_files.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace plimsoll::testing {
namespace {

constexpr const char* kTracing = "/sys/kernel/tracing";

bool has_tracepoints() {
  std::error_code error;
  return std::filesystem::is_directory("/sys/kernel/tracing/events", error) ||
         std::filesystem::is_directory("/sys/kernel/debug/tracing/events", error);
}

// Private, or the mount would be one of the machine, too.
bool mount_in_own_namespace() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tracefs", kTracing, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace

std::string why_no_tracepoints() {
  if (has_tracepoints()) {
    return {};
  }
  if (!mount_in_own_namespace()) {
    return fmt::format(
        "tracepoints are not mounted, and this user may not mount them ({}): mount -t tracefs tracefs {}",
        std::error_code(errno, std::generic_category()).message(), kTracing);
  }
  return has_tracepoints() ? std::string() : "this kernel has no tracepoints";
}

}  // namespace plimsoll::testing
