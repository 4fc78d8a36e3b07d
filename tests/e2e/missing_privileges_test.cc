// A daemon without the privileges that it needs says which of them are missing, and what its profile lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// As a user without any privilege but those named ("+perfmon").
Finished run_unprivileged(const std::vector<std::string>& arguments, const std::string& privileges = "") {
  const std::string capabilities = privileges.empty() ? "-all" : "-all," + privileges;
  std::vector<std::string> argv{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  for (const char* set : {"--inh-caps=", "--ambient-caps=", "--bounding-set="}) {
    argv.push_back(set + capabilities);
  }
  argv.push_back(program("plimsolld"));
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run(argv);
}

class MissingPrivileges : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user has no privileges to give away";
    }
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  }

  TemporaryFolder folder_;
};

TEST_F(MissingPrivileges, AreNamedWhereNothingCanBeSampled) {
  const Finished once = run_unprivileged({"--once", "1", "--output", folder_ / "profile"});
  EXPECT_EQ(once.status, 1);
  EXPECT_THAT(once.err, HasSubstr("CAP_PERFMON"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "profile"));
}

TEST_F(MissingPrivileges, AreNotedWhereSamplesLackNames) {
  const Finished once = run_unprivileged({"--once", "1", "--output", folder_ / "profile"}, "+perfmon");
  EXPECT_EQ(once.status, 0) << once.err;
  // Where the kernel hides its addresses from this user.
  const std::string kernel_note = "kernel code is unresolved";
  const std::string hidden = run_unprivileged({"probe"}, "+perfmon").out;
  EXPECT_EQ(once.out.find(kernel_note) != std::string::npos,
            hidden.find("/proc/kallsyms are hidden") != std::string::npos)
      << once.out;
  // Our own process is another user's.
  EXPECT_THAT(once.out, AllOf(HasSubstr("may not read the mappings"), HasSubstr("CAP_SYS_PTRACE")));
  const Finished imported = run({"plimsoll", "import", "--data", folder_ / "data", folder_ / "profile"});
  EXPECT_EQ(imported.status, 0) << imported.err;
}

TEST_F(MissingPrivileges, AreNotNotedWhereNoneIsMissing) {
  const Finished once = run({"plimsolld", "--once", "0.2", "--output", folder_ / "profile"});
  EXPECT_EQ(once.status, 0) << once.err;
  // In a sandbox there can be a process that is closed even to root.
  const bool some_closed =
      run({"plimsolld", "probe"}).out.find("protected by more than") != std::string::npos;
  EXPECT_EQ(once.out.find("CAP_SYS_PTRACE") != std::string::npos, some_closed) << once.out;
}

}  // namespace
}  // namespace plimsoll::testing
