// What becomes of the library in forked children.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "appprof/appprof.h"
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

}  // namespace
}  // namespace plimsoll::appprof
