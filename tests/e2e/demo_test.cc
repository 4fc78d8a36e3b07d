// `plimsoll demo` ends with questions to ask of its data: each is a command that works as it is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/shown_commands.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Demo, EndsWithFiveQuestionsThatWork) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const TemporaryFolder folder;
  const Finished demo = run({"plimsoll", "demo", "--seconds", "8", "--data", folder / "data of demo"});
  ASSERT_EQ(demo.status, 0) << demo.err;
  std::vector<std::string> commands;
  for (const std::string& line : lines_of(demo.out)) {
    if (line.starts_with("  plimsoll ")) {
      commands.push_back(line.substr(2));
    }
  }
  ASSERT_EQ(commands.size(), 5U) << demo.out;
  for (const char* part : {" top ", " flame ", "--base-until ", " callers ", "--by app,thread"}) {
    EXPECT_THAT(commands, Contains(HasSubstr(part)));
  }
  for (const std::string& command : commands) {
    const Finished finished = run_as_shown(command, folder.path());
    EXPECT_EQ(finished.status, 0) << command << "\n" << finished.err;
    EXPECT_TRUE(!finished.out.empty() || command.find(" > ") != std::string::npos) << command;
  }
  EXPECT_EQ(run({"/bin/grep", "-q", "<svg", folder / "flame.svg"}).status, 0);
}

}  // namespace
}  // namespace plimsoll::testing
