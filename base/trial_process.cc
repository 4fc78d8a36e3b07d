#include "base/trial_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <new>
#include <string_view>

#include "base/file.h"

namespace plimsoll {
namespace {

// Exit statuses of the trial; neither is one of a sanitizer's.
constexpr int kDone = 0;
constexpr int kOutOfMemory = 71;
constexpr int kThrew = 72;

// What RLIMIT_DATA counts of this process: "data", the sixth number of proc(5)'s statm. 0 where /proc is missing: then the limit
// counts from nothing.
uint64_t data_bytes() {
  const auto statm = read_file("/proc/self/statm", 256);
  if (!statm) {
    return 0;
  }
  std::string_view rest = *statm;
  for (int before = 0; before < 5; ++before) {
    const size_t space = rest.find(' ');
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  uint64_t pages = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), pages);
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void lower(__rlimit_resource resource, uint64_t value) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

[[noreturn]] void try_it(const std::function<void()>& prepare, const std::function<void()>& work,
                         const TrialLimits& limits, pid_t parent) {
  // The end of the process is the answer: no core file, and the trial ends with its parent.
  lower(RLIMIT_CORE, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) {
    ::_exit(kThrew);
  }
  try {
    prepare();
  } catch (...) {
    ::_exit(kThrew);
  }
  lower(RLIMIT_DATA, data_bytes() + limits.memory_bytes);
  lower(RLIMIT_CPU, limits.cpu_seconds);
  std::set_new_handler([] { ::_exit(kOutOfMemory); });
  try {
    work();
  } catch (...) {
    ::_exit(kThrew);  // which a process survives
  }
  ::_exit(kDone);
}

bool comes_from_within(int signal_number) {
  switch (signal_number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<std::optional<std::string>> dies_alone(const std::function<void()>& prepare,
                                              const std::function<void()>& work, const TrialLimits& limits) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    try_it(prepare, work, limits, parent);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return fail_errno(errno, "waiting for a trial");
    }
  }
  if (child < 0) {
    return fail_errno(errno, "making a process for a trial");
  }
  if (WIFSIGNALED(status) && comes_from_within(WTERMSIG(status))) {
    return fmt::format("the process that does it crashes ({})", ::strsignal(WTERMSIG(status)));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
    return fmt::format("it takes more than {} MiB of memory", limits.memory_bytes >> 20U);
  }
  return std::nullopt;
}

}  // namespace plimsoll
