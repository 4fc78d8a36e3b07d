#include "base/resource_limit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plimsoll {
namespace {

// Runs in a process of its own, since limits can only be lowered for good.
int exit_status_of(int (*work)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(work());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ResourceLimit, IsRaisedAsFarAsTheUserMay) {
  EXPECT_EQ(exit_status_of([] {
              const rlimit low{.rlim_cur = 32, .rlim_max = 64};
              if (::setrlimit(RLIMIT_NOFILE, &low) != 0 || (::getuid() == 0 && ::setuid(65534) != 0)) {
                return 1;
              }
              const auto raised = raise_limit(RLIMIT_NOFILE, 128, "open files");
              rlimit now{};
              ::getrlimit(RLIMIT_NOFILE, &now);
              return raised.has_value() && *raised == 64 && now.rlim_cur == 64 && now.rlim_max == 64 ? 0 : 2;
            }),
            0);
}

TEST(ResourceLimit, GoesToItsHardLimitWhereLessIsWanted) {
  EXPECT_EQ(exit_status_of([] {
              const rlimit low{.rlim_cur = 32, .rlim_max = 64};
              ::setrlimit(RLIMIT_NOFILE, &low);
              const auto raised = raise_limit(RLIMIT_NOFILE, 0, "open files");
              return raised.has_value() && *raised == 64 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace plimsoll
