// What becomes of the library in forked children.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "appprof/appprof.h"
#include "appprof/thread_sampler.h"
#include "tests/temporary_directory.h"
#include "tests/unit/appprof/announced.h"

namespace plimsoll::appprof {
namespace {

using testing::TemporaryDirectory;

TEST(AppprofFork, AChildForkedWhileItStartsAndStopsServesNothing) {
  ASSERT_TRUE(start({.listen = "127.0.0.1:0"}));  // the handlers of forks are there
  stop();
  std::atomic<bool> is_over{false};
  std::thread changing([&] {
    while (!is_over.load()) {
      start({.listen = "127.0.0.1:0"});
      stop();
    }
  });
  int served = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(address().empty() ? 3 : 4);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    served += WEXITSTATUS(status) == 3 ? 0 : 1;
  }
  is_over = true;
  changing.join();
  EXPECT_EQ(served, 0);
}

// Exit status of a forked child.
template <typename Run>
int in_child(const Run& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(run());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

TEST(AppprofFork, AChildServesNothingAndLeavesTheParentsFile) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(start({.announce_dir = folder.path()}));
  EXPECT_EQ(in_child([] { return address().empty() ? 3 : 4; }), 3);
  EXPECT_EQ(in_child([] {
              const bool is_up = static_cast<bool>(start({.listen = "127.0.0.1:0"}));
              stop();
              return is_up ? 3 : 4;
            }),
            3)
      << "it may start for itself";
  EXPECT_EQ(announced(folder.path(), ::getpid())["address"], address());
  stop();
}

TEST(AppprofFork, AChildAnnouncesItselfWhereAsked) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(start({.announce_dir = folder.path(), .serve_children = true}));
  const std::string parents = address();
  EXPECT_EQ(in_child([&] {
              const auto json = announced(folder.path(), ::getpid());
              const bool is_own = json.is_object() && json["address"] == address() && address() != parents;
              stop();
              return is_own ? 3 : 4;
            }),
            3);
  stop();
}

// Waits below so many calls: a thread with a deep stack takes long to answer.
[[gnu::noinline]] void wait_deep_down(int calls, std::future<void>& end) {
  if (calls > 0) {
    wait_deep_down(calls - 1, end);
  } else {
    end.wait();
  }
  // Not a last call, which would be a jump.
  asm volatile("" ::: "memory");  // NOLINT(hicpp-no-assembler)
}

// The answer that the other thread was writing in the parent is not waited for in the child.
TEST(AppprofFork, AChildForkedWhileAThreadAnswersHasStacksOfItsOwn) {
  ASSERT_TRUE(start({.listen = "127.0.0.1:0"}));  // the handlers of forks are there
  stop();
  std::promise<void> end;
  std::future<void> at_end = end.get_future();
  std::thread deep([&] { wait_deep_down(60, at_end); });
  std::atomic<bool> is_over{false};
  std::thread asking([&] {
    std::string why;
    while (!is_over.load()) {
      take_thread_profile({}, [](int64_t) { return true; }, why);
    }
  });
  int without = 0;
  for (int i = 0; i < 200; ++i) {
    without += in_child([] {
                 std::string why;
                 const Profile profile = take_thread_profile({}, [](int64_t) { return true; }, why);
                 return profile.samples.size() == 1 && !profile.samples[0].stack.empty() ? 3 : 4;
               }) == 3
                   ? 0
                   : 1;
  }
  is_over = true;
  asking.join();
  end.set_value();
  deep.join();
  EXPECT_EQ(without, 0);
}

}  // namespace
}  // namespace plimsoll::appprof
