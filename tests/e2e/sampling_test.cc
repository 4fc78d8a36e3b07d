// The main job without a server: sample, import, ask. Needs the privileges to sample the machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "base/file.h"
#include "proto/profile_codec.h"
#include "query/table/table.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

class Sampling : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
};

// Shares of a program's three functions among the samples in any of them.
struct Shares {
  double seventy = 0;
  double twenty = 0;
  double ten = 0;
};

struct Measured {
  Shares sampled;
  Shares truth;  // as the program measured it by its CPU clock
  double samples = 0;
  double stackless = 0;  // share of the program's samples
};

// Hits with a function on their stack (what it calls is inlined into it), from `top`: its values are hits x scale, and the
// scale is one within a profile. Sets the share of samples without stacks.
std::map<std::string, double> hits_by_function(const std::string& data_dir, double& stackless) {
  const Finished top =
      run({"plimsoll", "top", "--data", data_dir, "--where", "app=known_split", "--limit", "1000", "--json"});
  EXPECT_EQ(top.status, 0) << top.err;
  const auto table = query::from_json(top.out);
  EXPECT_TRUE(table.has_value()) << top.out;
  std::map<std::string, double> hits;
  stackless = table->coverage.stackless_share;
  double sum = 0;
  for (const auto& row : table->rows) {
    sum += std::get<double>(row[1]);
  }
  for (const auto& row : table->rows) {
    hits[std::get<std::string>(row[0])] = std::get<double>(row[query::column_of(*table, "total")]) / sum *
                                          static_cast<double>(table->coverage.samples);
  }
  return hits;
}

// So many that a hundredth is more than three standard errors of any share.
constexpr double kSamples = 25'000;
// A period is a whole part of every loop's length, so that a sampler of fixed period would fall into step.
constexpr double kRateHz = 4000;

// Loops of so many milliseconds have their shares only where they have the CPU to themselves: time that a host takes from a virtual CPU
// counts as CPU time, and is not sampled.
bool was_disturbed(const Shares& truth) {
  constexpr double kTolerance = 0.004;
  return std::abs(truth.seventy - 0.7) > kTolerance || std::abs(truth.twenty - 0.2) > kTolerance ||
         std::abs(truth.ten - 0.1) > kTolerance;
}

// Profiles the program several times into one data directory, until there are enough samples.
Measured measure(const std::string& mode, double wanted_samples,
                 const std::vector<std::string>& options = {}) {
  const std::string suffix = mode == "work" ? "_of_work" : "";
  const TemporaryFolder folder;
  Measured measured;
  int runs = 0;
  int disturbed = 0;
  while (measured.samples < wanted_samples && runs + disturbed < 60) {
    Background load({"known_split", "3.3", mode});
    std::vector<std::string> command{
        "plimsolld", "--once", "3", "--rate", fmt::format("{}", kRateHz), "--output", folder / "profile"};
    command.insert(command.end(), options.begin(), options.end());
    const Finished once = run(command);
    EXPECT_EQ(once.status, 0) << once.err;
    Shares truth;
    const Finished finished = load.wait();
    EXPECT_EQ(std::sscanf(finished.out.c_str(), "seventy %lf twenty %lf ten %lf", &truth.seventy,
                          &truth.twenty, &truth.ten),
              3)
        << finished.out;
    if (mode != "work" && was_disturbed(truth)) {
      ++disturbed;
      continue;
    }
    ++runs;
    measured.truth.seventy += truth.seventy;
    measured.truth.twenty += truth.twenty;
    measured.truth.ten += truth.ten;
    const Finished imported = run(
        {"plimsoll", "import", "--data", folder / "data", "--symbol-root", built_file(), folder / "profile"});
    EXPECT_EQ(imported.status, 0) << imported.err;
    auto hits = hits_by_function(folder / "data", measured.stackless);
    measured.sampled = {hits["seventy_percent" + suffix], hits["twenty_percent" + suffix],
                        hits["ten_percent" + suffix]};
    measured.samples = measured.sampled.seventy + measured.sampled.twenty + measured.sampled.ten;
  }
  if (disturbed > 0) {
    std::printf("%d runs are left out: other work took time from their loops\n", disturbed);
  }
  for (double* share : {&measured.truth.seventy, &measured.truth.twenty, &measured.truth.ten}) {
    *share /= runs;
  }
  for (double* share : {&measured.sampled.seventy, &measured.sampled.twenty, &measured.sampled.ten}) {
    *share /= measured.samples;
  }
  return measured;
}

void expect_share(double sampled, double expected, double samples, const char* function) {
  const double standard_error = std::sqrt(expected * (1 - expected) / samples);
  std::printf("%s: sampled %.4f, expected %.4f, off by %.2f standard errors of %.0f samples\n", function,
              sampled, expected, (sampled - expected) / standard_error, samples);
  EXPECT_NEAR(sampled, expected, 4 * standard_error) << function;
  EXPECT_NEAR(sampled, expected, 0.01) << function;
}

void expect_shares(const Measured& measured, const Shares& expected) {
  ASSERT_GE(measured.samples, kSamples);
  expect_share(measured.sampled.seventy, expected.seventy, measured.samples, "70 %");
  expect_share(measured.sampled.twenty, expected.twenty, measured.samples, "20 %");
  expect_share(measured.sampled.ten, expected.ten, measured.samples, "10 %");
}

TEST_F(Sampling, FindsTheSplitOfAProgramsWork) {
  expect_shares(measure("work", kSamples), {0.7, 0.2, 0.1});
}

// Three of four samples have no stack; each function's own time counts them all the same.
TEST_F(Sampling, FindsTheSplitWithFewerStacksThanSamples) {
  const Measured measured = measure("work", kSamples, {"--stack-rate", "1000"});
  expect_shares(measured, {0.7, 0.2, 0.1});
  // Samples with and without stacks come by two timers. Their numbers vary with the periods drawn, every 250 ms at the
  // latest and independently: by 32 % in each draw, from n draws of each as much as 0.32 sqrt(2 / n) of their ratio.
  const double draws = measured.samples / kRateHz / 0.25;
  const double standard_error = 0.25 * 0.75 * 0.32 * std::sqrt(2 / draws);
  std::printf("without stacks: %.4f of the samples, expected 0.75, standard error %.4f\n", measured.stackless,
              standard_error);
  EXPECT_NEAR(measured.stackless, 0.75, 4 * standard_error);
}

class LoopsInStep : public Sampling, public ::testing::WithParamInterface<std::string> {};

// A sampler of fixed period sees such a loop always at the same places: its shares are off by tens of points.
TEST_P(LoopsInStep, AreSampledWithoutBias) {
  const Measured measured = measure(GetParam(), kSamples);
  if (measured.samples < kSamples) {
    GTEST_SKIP() << "busy machine: no loop had the CPU to itself";
  }
  expect_shares(measured, measured.truth);
}

INSTANTIATE_TEST_SUITE_P(Milliseconds, LoopsInStep, ::testing::Values("1", "5", "10"));

TEST_F(Sampling, AccountsForEveryPageFault) {
  for (const auto& [pages, may_lose] : {std::pair("4096", false), std::pair("1", true)}) {
    const TemporaryFolder folder;
    // Starting programs faults in pages by the hundred.
    Background load({"/bin/sh", "-c", "while :; do /bin/true; /bin/ls /usr/lib; done"});
    const Finished once = run({"plimsolld", "--once", "1", "--event", "page-faults:1", "--ring-pages", pages,
                               "--stack-bytes", "8", "--output", folder / "profile"});
    ASSERT_EQ(once.status, 0) << once.err;
    const auto content = read_file(folder / "profile", 1 << 30);
    ASSERT_TRUE(content.has_value());
    const auto profile = wire::decode(as_bytes(*content));
    ASSERT_TRUE(profile.has_value()) << profile.error().text();
    const wire::Event& event = profile->events(0);
    std::printf("%s pages: %.0f produced, %lu hits, %lu lost, %lu not sampled\n", pages,
                event.counter_total(), event.hits(), event.lost(), event.not_sampled());
    EXPECT_GT(event.hits(), 10'000);
    EXPECT_EQ(static_cast<double>(event.hits() + event.lost() + event.not_sampled()), event.counter_total());
    // What the kernel counts without a sample (docs/collecting.md): mostly a few in 100,000, though more has been seen where
    // many processes end. A sample that we dropped would be counted here as well.
    EXPECT_LT(static_cast<double>(event.not_sampled()), 5 + event.counter_total() * 0.02);
    if (!may_lose) {
      EXPECT_EQ(event.lost(), 0);
    }
  }
}

TEST_F(Sampling, EveryOccurrenceOfAnEventHasItsStackWhateverTheStackRate) {
  const TemporaryFolder folder;
  const Background load({"/bin/sh", "-c", "while :; do /bin/true; done"});
  const Finished once = run({"plimsolld", "--once", "1", "--event", "page-faults:1", "--event", "cpu-clock",
                             "--stack-rate", "9", "--stack-bytes", "8", "--output", folder / "profile"});
  ASSERT_EQ(once.status, 0) << once.err;
  EXPECT_NE(once.out.find("page-faults is sampled at every occurrence"), std::string::npos) << once.out;
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", folder / "profile"}).status, 0);
  const auto stackless = [&](const char* event) {
    const Finished top = run({"plimsoll", "top", "--data", folder / "data", "--event", event, "--json"});
    const auto table = query::from_json(top.out);
    EXPECT_TRUE(table.has_value()) << top.out << top.err;
    return table->coverage.stackless_share;
  };
  EXPECT_EQ(stackless("page-faults"), 0);
  EXPECT_GT(stackless("cpu-clock"), 0);
}

TEST_F(Sampling, ScalesHitsToTheCpuTimeThatWasUsed) {
  const TemporaryFolder folder;
  Background load({"known_split", "4", "work"});
  ASSERT_EQ(run({"plimsolld", "--once", "3", "--rate", "199", "--output", folder / "profile"}).status, 0);
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", folder / "profile"}).status, 0);
  const Finished top = run(
      {"plimsoll", "top", "--data", folder / "data", "--where", "app=known_split", "--by", "app", "--json"});
  const auto table = query::from_json(top.out);
  ASSERT_TRUE(table.has_value()) << top.out << top.err;
  ASSERT_EQ(table->rows.size(), 1);
  // One busy thread for three seconds, of two or more CPUs, the others mostly idle. About 600 samples: 4 % is one
  // standard error; what other programs take from it makes the lower bound looser.
  const double cpu_seconds = std::get<double>(table->rows[0][1]) / 1e9;
  EXPECT_LT(cpu_seconds, 3 * 1.16);
  EXPECT_GT(cpu_seconds, 3 * 0.6);
}

}  // namespace
}  // namespace plimsoll::testing
