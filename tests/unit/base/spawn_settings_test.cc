#include "base/spawn_settings.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/temporary_directory.h"

namespace plimsoll {
namespace {

TEST(SpawnSettings, GiveAProgramItsFilesGroupAndSignals) {
  const testing::TemporaryDirectory folder;
  const std::string log = folder.path() + "/log";
  SpawnSettings settings;
  settings.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  settings.open(STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  settings.duplicate(STDOUT_FILENO, STDERR_FILENO);
  settings.set_own_group();
  settings.set_default(SIGPIPE);
  const auto pid =
      settings.start({"sh", "-c", "echo said; echo why >&2; kill -s PIPE 0; echo survived"}, true);
  ASSERT_TRUE(pid) << pid.error().text();
  int status = 0;
  ASSERT_EQ(::waitpid(*pid, &status, 0), *pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << "and this process is not of its group";
  EXPECT_EQ(read_file(log, 100).value_or(""), "said\nwhy\n");
}

TEST(SpawnSettings, SayWhatCouldNotBeStarted) {
  SpawnSettings settings;
  const auto pid = settings.start({"/nowhere/program"}, false);
  ASSERT_FALSE(pid);
  EXPECT_THAT(pid.error().text(), ::testing::HasSubstr("starting /nowhere/program"));
}

}  // namespace
}  // namespace plimsoll
