// Who it was, whole: jobs by an operator's rules from a daemon to a server, and how programs were built. Needs the
// privileges to sample the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Identity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
  TemporaryFolder folder_;
};

TEST_F(Identity, RulesNameTheJobOfProfilesAndOfNothingElseInTheEnvironment) {
  TestServer server(folder_ / "data", "[collect]\nwindow = \"1s\"\n");
  ASSERT_TRUE(server.becomes_ready());
  std::ofstream(folder_ / "daemon.toml") << "[identity]\nenvironment = ['E2E_JOB', 'E2E_SHARD']\n"
                                            "labels = ['E2E_SHARD']\n"
                                            "[[identity.rules]]\nenvironment = 'E2E_JOB=(.+)'\n"
                                            "executable = '/known_split$'\n"
                                            "job = '$1'\ninstance = '$1/$E2E_SHARD'\n";
  const Background work({"/usr/bin/env", "E2E_JOB=search", "E2E_SHARD=s3", "E2E_TOKEN=hunter2",
                         program("known_split"), "100", "work"});
  Background daemon({"plimsolld", "--config", folder_ / "daemon.toml", "--server", server.fleet_address(),
                     "--machine-id", "m1"});
  EXPECT_TRUE(eventually(
      [&] { return self_so_far({"--server", server.address(), "--by", "job"}).contains("search"); },
      std::chrono::milliseconds(200)))
      << daemon.err();
  daemon.kill(SIGTERM);
  daemon.wait();
  server.stop();
  int found = 0;
  for (const wire::RawProfile& profile : archived_in(folder_ / "data")) {
    EXPECT_THAT(profile.SerializeAsString(), Not(HasSubstr("hunter2")));
    for (const wire::Process& process : profile.processes()) {
      if (process.job() == "search") {
        EXPECT_EQ(process.instance(), "search/s3");
        EXPECT_EQ(process.labels().at("E2E_SHARD"), "s3");
        ++found;
      }
    }
  }
  EXPECT_GT(found, 0);
}

TEST_F(Identity, AMistakeInARuleStopsTheDaemonAtItsStart) {
  std::ofstream(folder_ / "daemon.toml") << "[[identity.rules]]\ncgroup = '(a'\njob = 'b'\n";
  const Finished finished =
      run({"plimsolld", "--config", folder_ / "daemon.toml", "--server", free_address()});
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err,
              HasSubstr("rule 1 of identity.rules, cgroup: \"(a\" is not a regular expression"));
}

// Programs of several compilers, one of them packaged.
TEST_F(Identity, ProgramsAreToldApartByCompilerRevisionAndBuilder) {
  std::ofstream(folder_ / "spin.c") << "int main(void) { for (volatile unsigned long i = 0;; ++i) {} }\n";
  const std::string package =
      R"({"type":"rpm","name":"spin","version":"7-1","os":"fedora","osVersion":"38"})";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"/usr/bin/gcc", "-O1", folder_ / "spin.c", "-o", folder_ / "spin_gcc"},
        {"/usr/bin/clang-19", "-O1", "-Xlinker", "--package-metadata=" + package, folder_ / "spin.c", "-o",
         folder_ / "spin_clang"}}) {
    const Finished compiled = run(command);
    ASSERT_EQ(compiled.status, 0) << compiled.err;
  }
  {
    const Background gcc({folder_ / "spin_gcc"});
    const Background clang({folder_ / "spin_clang"});
    const Finished once = run({"plimsolld", "--once", "2", "--output", folder_ / "f"});
    ASSERT_EQ(once.status, 0) << once.err;
  }
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder_ / "data", folder_ / "f"}).status, 0);
  const auto by = [&](const std::string& dimension, const std::string& app) {
    const auto table = self_of(top({"--data", folder_ / "data", "--by", dimension, "--where", "app=" + app}));
    return table.empty() ? std::string() : table.begin()->first;
  };
  EXPECT_THAT(by("compiler", "spin_gcc"), StartsWith("GCC: ("));
  EXPECT_THAT(by("compiler", "spin_clang"), HasSubstr("clang version 19"));
  EXPECT_EQ(by("revision", "spin_clang"), "7-1");
  EXPECT_EQ(by("builder", "spin_clang"), "rpm fedora 38");
}

}  // namespace
}  // namespace plimsoll::testing
