// `plimsoll demo` ends with questions to ask of its data: each is a command that works as it is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.h"
#include "tests/e2e/fleet.h"
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

// The address in what it has printed so far; empty: it has not come so far.
std::string page_of(const Background& demo) {
  constexpr std::string_view kBefore = "The web page: http://";
  const std::string out = demo.out();
  const size_t at = out.find(kBefore);
  const size_t end = at == std::string::npos ? at : out.find("/\n", at + kBefore.size());
  return end == std::string::npos ? "" : out.substr(at + kBefore.size(), end - at - kBefore.size());
}

TEST(Demo, KeepsItsPageUntilASignal) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const TemporaryFolder folder;
  Background demo({"plimsoll", "demo", "--seconds", "4", "--keep", "--data", folder / "data"});
  ASSERT_TRUE(eventually([&] { return !page_of(demo).empty(); }, std::chrono::milliseconds(100)))
      << demo.out() << demo.err();
  http::Client client({.base_url = page_of(demo)});
  const auto page = client.send("GET", "/");
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->body, HasSubstr("<html"));
  EXPECT_GT(top({"--server", page_of(demo)}).rows.size(), 0);
  // The daemon goes on.
  EXPECT_TRUE(eventually(
      [&] {
        const auto machines = rows_of(view("machines", {"--server", page_of(demo)}));
        return machines.size() == 1 && text(machines[0].at("state")) == "live";
      },
      std::chrono::milliseconds(100)));
  demo.kill(SIGTERM);
  const Finished ended = demo.wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
}

}  // namespace
}  // namespace plimsoll::testing
