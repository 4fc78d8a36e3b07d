// `plimsoll calibrate`: what it runs, how it judges, and that it leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <charconv>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The same work each time, without a word.
const std::string kWork = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";

Finished calibrate(const std::vector<std::string>& flags, const std::vector<std::string>& command) {
  std::vector<std::string> argv{"plimsoll", "calibrate"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.emplace_back("--");
  argv.insert(argv.end(), command.begin(), command.end());
  return run(argv);
}

class Calibrate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
};

TEST_F(Calibrate, ProposesTheHighestPermittedRate) {
  const Finished finished =
      calibrate({"--rates", "99,19,99", "--rounds", "5", "--overhead", "100%", "--cpu", "--json"},
                {"/bin/sh", "-c", kWork});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto document = nlohmann::json::parse(finished.out);
  EXPECT_EQ(document["notes"][0], "command: /bin/sh -c " + std::string(kWork));
  EXPECT_EQ(
      document["notes"][1],
      "slowdown in CPU time relative to runs without a profiler, 5 rounds; upper limits with a confidence of "
      "95 %; permitted: upper limit of at most 100 %");
  const auto& rows = document["rows"];
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0]["verdict"], "without profiler");
  EXPECT_EQ(rows[1]["rate_hz"], 19);
  EXPECT_EQ(rows[2]["rate_hz"], 99);
  EXPECT_EQ(rows[2]["verdict"], "highest permitted");
  for (const auto& measured : rows) {
    EXPECT_LT(measured["slowdown"], measured["upper_limit"]);
    EXPECT_GT(measured["log_deviation"], 0);
  }
}

TEST_F(Calibrate, SaysWhatEachRateCosts) {
  const Finished finished = calibrate({"--rates", "19,49", "--rounds", "5", "--overhead", "100%", "--cpu"},
                                      {"/bin/sh", "-c", kWork});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(
      finished.out,
      StartsWith(
          "CPU time of /bin/sh -c " + kWork +
          " relative to runs without a profiler, 5 rounds; upper limits with a confidence of 95 %\n\nrate"));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("\nnone "), HasSubstr("\n19 Hz "), HasSubstr("\n49 Hz ")));
  EXPECT_THAT(finished.out,
              HasSubstr("\n49 Hz is the highest of these rates with less than 100 % overhead.\n"));
}

TEST_F(Calibrate, PermitsNothingThatIsNotSurelyHarmless) {
  const Finished finished = calibrate(
      {"--rates", "19", "--rounds", "2", "--overhead", "0.001%", "--confidence", "99.99%"}, {"/bin/true"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.out, HasSubstr("This machine is noisy"));
  EXPECT_THAT(finished.err,
              HasSubstr("no rate is within --overhead: at 19 Hz the upper limit of the slowdown is "));
}

TEST_F(Calibrate, CollectsWhatItIsTold) {
  const Finished finished =
      calibrate({"--rates", "19", "--rounds", "2", "--event-set", "cpu-clock,frobnications"}, {"/bin/true"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("plimsolld does not sample this machine: "),
                                  HasSubstr("frobnications"), HasSubstr("plimsolld probe")));
}

TEST(CalibrateCommand, HasToSucceed) {
  const Finished failing = calibrate({}, {"/bin/sh", "-c", "echo broken; echo; exit 3"});
  EXPECT_EQ(failing.status, 2);
  EXPECT_THAT(failing.err, HasSubstr("/bin/sh exited with status 3; its last output: broken"));
  const Finished killed = calibrate({}, {"/bin/sh", "-c", "kill -9 $$"});
  EXPECT_THAT(killed.err, HasSubstr("/bin/sh exited with status 137; its last output: nothing"));
  EXPECT_THAT(calibrate({}, {"/no/such"}).err, HasSubstr("starting /no/such: No such file"));
}

TEST(CalibrateCommand, IsEndedWhereItTakesTooLong) {
  const Finished finished = calibrate({"--limit", "0.1"}, {"/bin/sleep", "1000"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("/bin/sleep ran for more than 0.1 s"), HasSubstr("--limit")));
}

TEST(CalibrateCommand, IsEndedByASignal) {
  const TemporaryFolder folder;
  const std::string file = folder / "pid";
  Background calibrating(
      {"plimsoll", "calibrate", "--", "/bin/sh", "-c", "echo $$ > " + file + "; exec sleep 1000"});
  std::string text;
  ASSERT_TRUE(eventually([&] {
    text = read_file(file, 100).value_or("");
    return text.ends_with('\n');
  }));
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  ASSERT_EQ(::kill(pid, 0), 0);
  calibrating.kill(SIGINT);
  const Finished finished = calibrating.wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("interrupted by a signal"));
  EXPECT_NE(::kill(pid, 0), 0) << "it runs on";
}

}  // namespace
}  // namespace plimsoll::testing
