#include "base/trial_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMemoryBytes = uint64_t{64} << 20;

std::string verdict_on(const std::function<void()>& work, const std::function<void()>& prepare = [] {}) {
  const auto died = dies_alone(prepare, work, {.memory_bytes = kMemoryBytes, .cpu_seconds = 1});
  EXPECT_TRUE(died) << died.error().text();
  return died ? died->value_or("not to blame") : "";
}

// By default: sanitizers have handlers of their own for some of them.
void raise_by_default(int signal_number) {
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

TEST(DiesAlone, WorkThatCrashesIsToBlame) {
  EXPECT_THAT(verdict_on([] { std::abort(); }), HasSubstr("crashes (Aborted)"));
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) {
    EXPECT_THAT(verdict_on([=] { raise_by_default(signal_number); }), HasSubstr("crashes ("));
  }
  EXPECT_THAT(verdict_on([] { std::terminate(); }), HasSubstr("Aborted"));
}

TEST(DiesAlone, WorkThatComesToAnEndIsNot) {
  EXPECT_EQ(verdict_on([] {}), "not to blame");
  EXPECT_EQ(verdict_on([] { throw std::runtime_error("of no matter"); }), "not to blame");
  EXPECT_EQ(verdict_on([] { ::_exit(1); }), "not to blame");
}

TEST(DiesAlone, WorkThatIsEndedFromOutsideIsNot) {
  for (const int signal_number : {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) {
    EXPECT_EQ(verdict_on([=] { raise_by_default(signal_number); }), "not to blame") << signal_number;
  }
  EXPECT_EQ(verdict_on([] { raise_by_default(SIGXCPU); }), "not to blame") << "being slow ends no process";
}

TEST(DiesAlone, WorkThatTakesMoreThanTheMemoryIsToBlame) {
#ifdef PLIMSOLL_SANITIZED
  GTEST_SKIP() << "sanitizers have allocators of their own";
#endif
  const auto take = [](uint64_t bytes) {
    for (uint64_t taken = 0; taken < bytes; taken += 1 << 20) {
      static_cast<char*>(::operator new(1 << 20))[0] = 1;
    }
  };
  EXPECT_EQ(verdict_on([&] { take(kMemoryBytes / 2); }), "not to blame");
  EXPECT_EQ(verdict_on([&] { take(kMemoryBytes * 2); }), "it takes more than 64 MiB of memory");
  EXPECT_EQ(verdict_on([] {}, [&] { take(kMemoryBytes * 2); }), "not to blame")
      << "what it begins with is no matter";
}

TEST(DiesAlone, NothingIsDoneHere) {
  EXPECT_EQ(verdict_on([] { std::abort(); }, [] { throw std::runtime_error("the file is gone"); }),
            "not to blame");
  int work_was_done_here = 0;
  EXPECT_EQ(verdict_on([&] { ++work_was_done_here; }), "not to blame");
  EXPECT_EQ(work_was_done_here, 0) << "but in the other process";
}

}  // namespace
}  // namespace plimsoll
