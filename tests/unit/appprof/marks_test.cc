// What the library's marks are as system calls, seen as a tracer sees them.
#include "appprof/marks.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "appprof/appprof.h"
#include "appprof/mark_calls.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/marks/mark_decoder.h"

namespace plimsoll::appprof {
namespace {

// The getpid() calls of a child that runs `program`. Nothing where this process may not trace.
std::optional<std::vector<traces::MarkCall>> getpid_calls(const std::function<void()>& program) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
      ::_exit(2);
    }
    ::raise(SIGSTOP);
    program();
    ::_exit(0);
  }
  std::vector<traces::MarkCall> calls;
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
    return std::nullopt;
  }
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD);
  while (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0 && ::waitpid(child, &status, 0) == child &&
         WIFSTOPPED(status)) {
    __ptrace_syscall_info info{};
    const long size = ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
    if (size > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getpid) {
      calls.push_back({.time_ns = static_cast<int64_t>(calls.size()),
                       .tid = static_cast<uint32_t>(child),
                       .first = info.entry.args[0],
                       .second = info.entry.args[1]});
    }
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(calls) : std::nullopt;
}

std::vector<std::pair<traces::MarkKind, uint64_t>> marks_in(const std::vector<traces::MarkCall>& calls) {
  std::vector<std::pair<traces::MarkKind, uint64_t>> marks;
  traces::MarkDecoder decoder;
  for (const traces::MarkCall& call : calls) {
    if (const auto mark = decoder.take(call)) {
      marks.emplace_back(mark->kind, mark->value);
    }
  }
  return marks;
}

constexpr int kLock = 0;

TEST(Marks, AreWhatTheDecoderReads) {
  using traces::MarkKind;
  const auto calls = getpid_calls([] {
    plimsoll_mark(kAlwaysBursts, PLIMSOLL_START, 7);
    ::getpid();
    ::getpid();
    plimsoll_mark(kNeverBursts, PLIMSOLL_START, 8);
    plimsoll_mark(kAlwaysBursts, PLIMSOLL_LOCK_GOT, UINT64_MAX);
    set_bursts("always");
    {
      const RequestScope request(0x123456789ABCDEF0);
      plimsoll_appprof_phase("parse, and more");
      plimsoll_appprof_lock_wait(&kLock);
      plimsoll_appprof_lock_got(&kLock);
      plimsoll_appprof_phase(nullptr);
    }
    const WorksFor other(9);
    set_bursts("off");
  });
  if (!calls) {
    GTEST_SKIP() << "this process may not trace its children";
  }
  const auto lock = reinterpret_cast<uintptr_t>(&kLock);
  const std::vector<std::pair<MarkKind, uint64_t>> expected{
      {MarkKind::kStart, 7},
      {MarkKind::kLockGot, UINT64_MAX},
      {MarkKind::kStart, 0x123456789ABCDEF0},
      {MarkKind::kPhase, phase_value("parse, a")},
      {MarkKind::kLockWait, lock},
      {MarkKind::kLockGot, lock},
      {MarkKind::kPhase, 0},
      {MarkKind::kStop, 0x123456789ABCDEF0},
      {MarkKind::kSwitch, 9},
  };
  EXPECT_EQ(marks_in(*calls), expected);
  EXPECT_EQ(traces::phase_name(phase_value("parse, and more")), "parse, a");
}

TEST(Marks, AreWithoutAnyCallUntilBurstsAreSet) {
  const auto calls = getpid_calls([] { plimsoll_appprof_request_start(7); });
  if (!calls) {
    GTEST_SKIP() << "this process may not trace its children";
  }
  EXPECT_TRUE(calls->empty());
}

// The library's few lines and those of daemon and command line, which it cannot share.
TEST(Marks, KnowTheSameBurstConfigsAsTheDaemon) {
  for (const char* text :
       {"7,8", "1,0", "20,20", "0,8", "21,0", "3,21", "7", "", "7,8 ", "-1,3", ",", "7,8,9", "07,8"}) {
    const auto known = traces::BurstConfig::parse(text);
    uint64_t bits = 0;
    EXPECT_EQ(read_burst_config(text, bits), known.has_value()) << text;
    EXPECT_EQ(bits, known ? known->bits() : 0) << text;
    EXPECT_EQ(set_bursts(text), known.has_value()) << text;
  }
  set_bursts("off");
  uint64_t bits = 1;
  EXPECT_TRUE(read_burst_config("always", bits));
  EXPECT_TRUE(plimsoll_is_burst(bits) != 0);
  EXPECT_TRUE(read_burst_config("off", bits));
  EXPECT_FALSE(plimsoll_is_burst(bits) != 0);
}

TEST(Marks, TakeRequestsFromTraceparents) {
  const std::string sound = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(request_id(sound), 0xa3ce929d0e0e4736);
  EXPECT_EQ(request_id("00-4bf92f3577b34da60000000000000000-00f067aa0ba902b7-00"), 0x4bf92f3577b34da6);
  EXPECT_EQ(request_id("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what"), 0xa3ce929d0e0e4736);
  EXPECT_EQ(plimsoll_appprof_request_id(nullptr), 0U);
  for (const char* text : {"", "00-", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
                           "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
                           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
    EXPECT_EQ(request_id(text), 0U) << text;
  }
  for (size_t size = 0; size < sound.size(); ++size) {
    EXPECT_EQ(request_id(sound.substr(0, size)), 0U) << size;
  }
}

}  // namespace
}  // namespace plimsoll::appprof
