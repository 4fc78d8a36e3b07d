// The filter of system calls, each time in a child of its own: it is for good.
#include "daemon/privileges/system_call_filter.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>

namespace plimsoll {
namespace {

constexpr int kNoFilter = 100;

// The child's exit status: what `call` returns under the filter.
int under_filter(const std::function<int()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_system_calls();
    ::_exit(filtered ? call() : kNoFilter);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int error_of(long result) {
  return result < 0 ? errno : 0;
}

class SystemCallFilter : public ::testing::Test {
 protected:
  void SetUp() override {
    if (under_filter([] { return describe_system_call_filter().in_force ? 0 : 1; }) != 0) {
      GTEST_SKIP() << describe_system_call_filter().text;
    }
  }
};

struct Call {
  const char* name;
  std::function<long()> call;
};

// Each would fail otherwise with another error than EPERM, for any user, or succeed.
TEST_F(SystemCallFilter, RefusesWhatTheDaemonNeverDoes) {
  const Call kForbidden[] = {
      {"execve", [] { return ::syscall(SYS_execve, "/nonexistent", nullptr, nullptr); }},
      {"execveat", [] { return ::syscall(SYS_execveat, -1, "/nonexistent", nullptr, nullptr, 0); }},
      {"fork", [] { return long{::fork()}; }},
      {"vfork by clone", [] { return ::syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0); }},
      {"kill", [] { return ::syscall(SYS_kill, ::getpid(), 0); }},
      {"ptrace", [] { return ::syscall(SYS_ptrace, -1, 0, 0, 0); }},
      {"process_vm_writev", [] { return ::syscall(SYS_process_vm_writev, ::getpid(), 0, 0, 0, 0, 0); }},
      {"mount", [] { return ::syscall(SYS_mount, 0, "/nonexistent", 0, 0, 0); }},
      {"unshare", [] { return ::syscall(SYS_unshare, 0); }},
      {"setns", [] { return ::syscall(SYS_setns, -1, 0); }},
      {"chroot", [] { return ::syscall(SYS_chroot, "/nonexistent"); }},
      {"bpf", [] { return ::syscall(SYS_bpf, -1, 0, 0); }},
      {"init_module", [] { return ::syscall(SYS_init_module, 0, 0, 0); }},
      {"finit_module", [] { return ::syscall(SYS_finit_module, -1, 0, 0); }},
      {"kexec_load", [] { return ::syscall(SYS_kexec_load, 0, ~0UL, 0, 0); }},
      {"setuid", [] { return ::syscall(SYS_setuid, ::getuid()); }},
      {"setgroups", [] { return ::syscall(SYS_setgroups, -1, nullptr); }},
      {"capset", [] { return ::syscall(SYS_capset, nullptr, nullptr); }},
      {"keyctl", [] { return ::syscall(SYS_keyctl, -1, 0, 0, 0, 0); }},
      {"io_uring_setup", [] { return ::syscall(SYS_io_uring_setup, 0, nullptr); }},
      {"clock_settime", [] { return ::syscall(SYS_clock_settime, -1, nullptr); }},
      {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, -1); }},
      {"a raw packet socket", [] { return long{::socket(AF_PACKET, -1, 0)}; }},
      {"typing on a terminal", [] { return ::syscall(SYS_ioctl, -1, 0x5412 /* TIOCSTI */, "x"); }},
      {"raising a limit", [] { return ::syscall(SYS_prlimit64, 0, -1, "", nullptr); }},
      {"memory to write and execute",
       [] {
         return ::syscall(SYS_mmap, 0, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       }},
      {"making memory executable", [] { return ::syscall(SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC); }},
  };
  for (const Call& forbidden : kForbidden) {
    EXPECT_EQ(under_filter([&] { return error_of(forbidden.call()); }), EPERM) << forbidden.name;
  }
}

// By either of its names: to set it takes CAP_SYS_TIME, which the daemon gives away.
TEST_F(SystemCallFilter, PermitsToReadHowRightTheClockIs) {
  EXPECT_EQ(under_filter([] {
              timex state{};
              return error_of(::adjtimex(&state));
            }),
            0);
  EXPECT_EQ(under_filter([] {
              timex state{};
              return error_of(::syscall(SYS_adjtimex, &state));
            }),
            0);
}

TEST_F(SystemCallFilter, PermitsThreads) {
  EXPECT_EQ(under_filter([] {
              int result = 1;
              std::thread([&] { result = 0; }).join();
              return result;
            }),
            0);
}

TEST_F(SystemCallFilter, BindsTheThreadsThatAreThere) {
  EXPECT_EQ(under_filter([] {
              int error_number = 0;
              std::thread([&] { error_number = error_of(::syscall(SYS_unshare, 0)); }).join();
              return error_number;
            }),
            EPERM);
}

TEST_F(SystemCallFilter, PermitsToLookUpNames) {
  EXPECT_EQ(under_filter([] {
              addrinfo* found = nullptr;
              return ::getaddrinfo("localhost", "80", nullptr, &found);
            }),
            0);
}

TEST_F(SystemCallFilter, LetsAProgramAbort) {
  EXPECT_EQ(under_filter([]() -> int { std::abort(); }), 128 + SIGABRT);
}

}  // namespace
}  // namespace plimsoll
