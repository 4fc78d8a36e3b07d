#include "daemon/privileges/system_call_filter.h"

#include <asm/termbits.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace plimsoll {
namespace {

#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

constexpr auto kFiles = std::to_array<const char*>({"access",
                                                    "chmod",
                                                    "close",
                                                    "close_range",
                                                    "copy_file_range",
                                                    "dup",
                                                    "dup2",
                                                    "dup3",
                                                    "faccessat",
                                                    "faccessat2",
                                                    "fadvise64",
                                                    "fallocate",
                                                    "fchmod",
                                                    "fchmodat",
                                                    "fcntl",
                                                    "fdatasync",
                                                    "flock",
                                                    "fstat",
                                                    "fstatfs",
                                                    "fsync",
                                                    "ftruncate",
                                                    "getcwd",
                                                    "getdents",
                                                    "getdents64",
                                                    "link",
                                                    "linkat",
                                                    "lseek",
                                                    "lstat",
                                                    "mkdir",
                                                    "mkdirat",
                                                    "name_to_handle_at",
                                                    "newfstatat",
                                                    "open",
                                                    "openat",
                                                    "openat2",
                                                    "pread64",
                                                    "preadv",
                                                    "pwrite64",
                                                    "pwritev",
                                                    "read",
                                                    "readlink",
                                                    "readlinkat",
                                                    "readv",
                                                    "rename",
                                                    "renameat",
                                                    "renameat2",
                                                    "rmdir",
                                                    "stat",
                                                    "statfs",
                                                    "statx",
                                                    "sync_file_range",
                                                    "truncate",
                                                    "umask",
                                                    "unlink",
                                                    "unlinkat",
                                                    "utimensat",
                                                    "write",
                                                    "writev"});
constexpr auto kWaiting = std::to_array<const char*>(
    {"clock_getres",   "clock_gettime",  "clock_nanosleep", "epoll_create1", "epoll_ctl", "epoll_pwait",
     "epoll_wait",     "eventfd2",       "gettimeofday",    "nanosleep",     "pipe2",     "poll",
     "ppoll",          "pselect6",       "restart_syscall", "select",        "signalfd4", "time",
     "timerfd_create", "timerfd_settime"});
constexpr auto kThreadsAndMemory = std::to_array<const char*>({"brk",
                                                               "exit",
                                                               "exit_group",
                                                               "futex",
                                                               "gettid",
                                                               "madvise",
                                                               "membarrier",
                                                               "mremap",
                                                               "munmap",
                                                               "perf_event_open",
                                                               "rseq",
                                                               "rt_sigaction",
                                                               "rt_sigprocmask",
                                                               "rt_sigreturn",
                                                               "rt_sigtimedwait",
                                                               "sched_getaffinity",
                                                               "sched_yield",
                                                               "set_robust_list",
                                                               "set_tid_address",
                                                               "sigaltstack"});
constexpr auto kNetwork = std::to_array<const char*>(
    {"bind", "connect", "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg", "recvmsg",
     "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socketpair"});
// adjtimex(2), which is clock_adjtime in newer C libraries, reads how right the clock is; to set it takes CAP_SYS_TIME, which is gone.
constexpr auto kAboutItself = std::to_array<const char*>(
    {"adjtimex",  "capget",    "clock_adjtime", "getcpu",  "getegid",   "geteuid",   "getgid",
     "getgroups", "getpgrp",   "getpid",        "getppid", "getrandom", "getresgid", "getresuid",
     "getrlimit", "getrusage", "getuid",        "sysinfo", "times",     "uname"});

// A call, and what one of its arguments must be, as masked bits.
struct ArgumentRule {
  const char* name;
  unsigned argument;
  uint64_t mask;
  uint64_t value;
};

constexpr uint64_t kAllBits = UINT32_MAX;
constexpr uint64_t kWriteExecute = PROT_WRITE | PROT_EXEC;
constexpr uint64_t kIoctlKind = 0xff00;

std::vector<ArgumentRule> argument_rules() {
  std::vector<ArgumentRule> rules{
      {"clone", 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM},
      {"ioctl", 1, kIoctlKind, PERF_EVENT_IOC_ENABLE & kIoctlKind},
      {"mprotect", 2, PROT_EXEC, 0},
      {"prlimit64", 2, UINT64_MAX, 0},  // reading only
      {"tgkill", 0, kAllBits, static_cast<uint64_t>(::getpid())},
  };
  for (const uint64_t request :
       {uint64_t{TCGETS}, uint64_t{TIOCGWINSZ}, uint64_t{FIONBIO}, uint64_t{FIONREAD}}) {
    rules.push_back({"ioctl", 1, kAllBits, request});
  }
  for (const uint64_t protection : {uint64_t{0}, uint64_t{PROT_WRITE}, uint64_t{PROT_EXEC}}) {
    rules.push_back({"mmap", 2, kWriteExecute, protection});
  }
  for (const int family : {AF_UNIX, AF_INET, AF_INET6}) {
    rules.push_back({"socket", 0, kAllBits, static_cast<uint64_t>(family)});
  }
  for (const int option :
       {PR_SET_NAME, PR_CAPBSET_READ, PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS, PR_GET_DUMPABLE}) {
    rules.push_back({"prctl", 0, kAllBits, static_cast<uint64_t>(option)});
  }
  return rules;
}

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

// Names that this architecture lacks (arm64 has no open) resolve to numbers below zero, for which there is nothing to permit.
Status permit(const Filter& filter, uint32_t action, const char* name,
              std::span<const scmp_arg_cmp> arguments = {}) {
  const int number = ::seccomp_syscall_resolve_name(name);
  if (number < 0) {
    return {};
  }
  const int result = ::seccomp_rule_add_array(filter.get(), action, number,
                                              static_cast<unsigned>(arguments.size()), arguments.data());
  return result == 0 ? Status() : fail_errno(-result, "permitting the system call {}", name);
}

Status permit_calls(const Filter& filter) {
  for (const std::span<const char* const> names :
       {std::span<const char* const>(kFiles), std::span<const char* const>(kWaiting),
        std::span<const char* const>(kThreadsAndMemory), std::span<const char* const>(kNetwork),
        std::span<const char* const>(kAboutItself)}) {
    for (const char* name : names) {
      if (auto permitted = permit(filter, SCMP_ACT_ALLOW, name); !permitted) {
        return permitted;
      }
    }
  }
  for (const ArgumentRule& rule : argument_rules()) {
    const scmp_arg_cmp argument{rule.argument, SCMP_CMP_MASKED_EQ, rule.mask, rule.value};
    if (auto permitted = permit(filter, SCMP_ACT_ALLOW, rule.name, {&argument, 1}); !permitted) {
      return permitted;
    }
  }
  return permit(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3");
}

}  // namespace

Status filter_system_calls() {
  if (kIsSanitized) {
    return {};
  }
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)), ::seccomp_release);
  if (!filter) {
    return fail(ErrorCode::kIo, "preparing the system call filter failed");
  }
  if (auto permitted = permit_calls(filter); !permitted) {
    return permitted;
  }
  // A tree of comparisons: a row of them would make the calls at its end dear.
  ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (const int result = ::seccomp_load(filter.get()); result != 0) {
    return with_hint(fail_errno(-result, "installing the system call filter"),
                     "on kernels without seccomp, give --no-seccomp (daemon.seccomp = false)");
  }
  return {};
}

SystemCallFilterState describe_system_call_filter() {
  if (kIsSanitized) {
    return {false, "disabled in builds with sanitizers, which need other system calls"};
  }
  const bool in_force = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
  return {in_force, in_force ? "system calls that are not needed are refused (EPERM)" : "switched off"};
}

}  // namespace plimsoll
