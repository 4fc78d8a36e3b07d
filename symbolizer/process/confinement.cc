#include "symbolizer/process/confinement.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxDescriptors = 64;
// Between SIGXCPU, which names the reason, and SIGKILL.
constexpr uint32_t kGraceSeconds = 5;

constexpr auto kCalls = std::to_array<const char*>({"access",
                                                    "brk",
                                                    "clock_gettime",
                                                    "close",
                                                    "exit",
                                                    "exit_group",
                                                    "faccessat",
                                                    "faccessat2",
                                                    "fadvise64",
                                                    "fstat",
                                                    "futex",
                                                    "getcwd",
                                                    "getpid",
                                                    "getrandom",
                                                    "getrusage",
                                                    "gettid",
                                                    "gettimeofday",
                                                    "lseek",
                                                    "lstat",
                                                    "madvise",
                                                    "membarrier",
                                                    "mremap",
                                                    "munmap",
                                                    "newfstatat",
                                                    "pread64",
                                                    "read",
                                                    "readlink",
                                                    "readlinkat",
                                                    "readv",
                                                    "restart_syscall",
                                                    "rseq",
                                                    "rt_sigaction",
                                                    "rt_sigprocmask",
                                                    "rt_sigreturn",
                                                    "sched_getaffinity",
                                                    "sched_yield",
                                                    "set_robust_list",
                                                    "sigaltstack",
                                                    "stat",
                                                    "statx",
                                                    "sysinfo"});

// A call, and what one of its arguments must be, as masked bits.
struct ArgumentRule {
  const char* name;
  unsigned argument;
  uint64_t mask;
  uint64_t value;
};

std::vector<ArgumentRule> argument_rules(int table_fd) {
  constexpr uint64_t kAllBits = UINT32_MAX;
  constexpr uint64_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
  std::vector<ArgumentRule> rules{
      {"clone", 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM},
      {"mmap", 2, PROT_EXEC, 0},
      {"mprotect", 2, PROT_EXEC, 0},
      {"open", 1, kWriting, O_RDONLY},
      {"openat", 2, kWriting, O_RDONLY},
      {"prlimit64", 1, kAllBits, RLIMIT_CPU},
      {"setrlimit", 0, kAllBits, RLIMIT_CPU},
      {"tgkill", 0, kAllBits, static_cast<uint64_t>(::getpid())},  // abort()
  };
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO, table_fd}) {
    for (const char* const name : {"write", "writev"}) {
      rules.push_back({name, 0, kAllBits, static_cast<uint64_t>(fd)});
    }
  }
  return rules;
}

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

// Names that this architecture lacks (arm64 has no open) resolve to numbers below zero.
Status permit(const Filter& filter, uint32_t action, const char* name,
              std::span<const scmp_arg_cmp> arguments = {}) {
  const int number = ::seccomp_syscall_resolve_name(name);
  const int result =
      number < 0 ? 0
                 : ::seccomp_rule_add_array(filter.get(), action, number,
                                            static_cast<unsigned>(arguments.size()), arguments.data());
  return result == 0 ? Status() : fail_errno(-result, "permitting the system call {}", name);
}

Status permit_calls(const Filter& filter, int table_fd) {
  for (const char* const name : kCalls) {
    if (auto permitted = permit(filter, SCMP_ACT_ALLOW, name); !permitted) {
      return permitted;
    }
  }
  for (const ArgumentRule& rule : argument_rules(table_fd)) {
    const scmp_arg_cmp argument{rule.argument, SCMP_CMP_MASKED_EQ, rule.mask, rule.value};
    if (auto permitted = permit(filter, SCMP_ACT_ALLOW, rule.name, {&argument, 1}); !permitted) {
      return permitted;
    }
  }
  // Upon which the C library makes threads by clone, whose flags a filter can read.
  return permit(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3");
}

// Whoever tries something else is no longer the program that we wrote.
Status filter_system_calls(int table_fd) {
  const Filter filter(::seccomp_init(SCMP_ACT_KILL_PROCESS), ::seccomp_release);
  if (!filter) {
    return fail(ErrorCode::kIo, "preparing the filter of system calls failed");
  }
  if (auto permitted = permit_calls(filter, table_fd); !permitted) {
    return permitted;
  }
  ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  const int result = ::seccomp_load(filter.get());
  return result == 0 ? Status() : fail_errno(-result, "setting the filter of system calls");
}

Status limit(__rlimit_resource resource, uint64_t soft, uint64_t hard, const char* what) {
  rlimit now{};
  ::getrlimit(resource, &now);
  const rlimit wanted{std::min<rlim_t>(soft, now.rlim_max), std::min<rlim_t>(hard, now.rlim_max)};
  return ::setrlimit(resource, &wanted) == 0 ? Status() : fail_errno(errno, "limiting {}", what);
}

Status set_limits(const ProcessLimits& limits) {
  if (auto limited = limit(RLIMIT_CORE, 0, 0, "core files"); !limited) {
    return limited;
  }
  if (auto limited = limit(RLIMIT_NOFILE, kMaxDescriptors, kMaxDescriptors, "open files"); !limited) {
    return limited;
  }
  if (auto limited = limit(RLIMIT_FSIZE, limits.table_bytes, limits.table_bytes, "written files"); !limited) {
    return limited;
  }
  if (auto limited = limit(RLIMIT_CPU, limits.cpu_seconds, kMaxCpuSeconds + kGraceSeconds, "CPU time");
      !limited) {
    return limited;
  }
  return kIsSanitized ? Status() : limit(RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes, "memory");
}

Status end_with(int parent_pid) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return fail_errno(errno, "binding this process to its parent");
  }
  return ::getppid() == parent_pid ? Status() : fail(ErrorCode::kUnavailable, "the parent process has ended");
}

}  // namespace

uint32_t cpu_seconds_for(const ProcessLimits& limits, uint64_t file_bytes) {
  const uint64_t seconds = limits.cpu_seconds + file_bytes / kBytesPerCpuSecond;
  return static_cast<uint32_t>(std::min<uint64_t>(seconds, kMaxCpuSeconds));
}

Status confine(const ProcessLimits& limits, int parent_pid, int table_fd) {
  std::set_new_handler([] { ::_exit(kOutOfMemoryStatus); });
  if (auto bound = end_with(parent_pid); !bound) {
    return bound;
  }
  if (auto limited = set_limits(limits); !limited) {
    return limited;
  }
  if (kIsSanitized) {
    return {};
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return fail_errno(errno, "giving up privileges");
  }
  return filter_system_calls(table_fd);
}

void grant_cpu_time(const ProcessLimits& limits, uint64_t file_bytes) {
  const rlimit wanted{cpu_seconds_for(limits, file_bytes), kMaxCpuSeconds + kGraceSeconds};
  // Without it, less time is left than there should be, and that ends with a reason.
  ::setrlimit(RLIMIT_CPU, &wanted);
}

}  // namespace plimsoll::symbolizer
