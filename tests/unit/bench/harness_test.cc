// What every benchmark shares: medians, lines through two points, and how measurements are reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

#include "bench/harness/child.h"
#include "bench/harness/program.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {
namespace {

TEST(Median, IsTheMiddleValueOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 100}), 9);
  EXPECT_EQ(median({4, 1, 100, 2}), 3);
}

TEST(Quantile, IsOneOfTheValues) {
  EXPECT_EQ(quantile({}, 0.99), 0);
  EXPECT_EQ(quantile({7}, 0.99), 7);
  EXPECT_EQ(quantile({30, 10, 20}, 0), 10);
  EXPECT_EQ(quantile({30, 10, 20}, 1), 30);
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 1);
  std::ranges::shuffle(values, std::mt19937_64(1));
  EXPECT_EQ(quantile(values, 0.99), 990);
  EXPECT_EQ(quantile(values, 0.5), 500);
}

TEST(MeanInterval, IsThatOfStudent) {
  // The 97.5 % quantile of t with 3 degrees of freedom is 3.18245.
  const Interval interval = mean_interval(std::vector<double>{1, 1, 5, 5});
  EXPECT_DOUBLE_EQ(interval.center, 3);
  EXPECT_NEAR(interval.high - 3, 3.182446 * std::sqrt(16.0 / 3 / 4), 1e-6);
  EXPECT_NEAR(interval.high + interval.low, 6, 1e-12);
}

TEST(MeanInterval, OfTooFewIsUnbounded) {
  EXPECT_EQ(mean_interval({}).center, 0);
  const Interval interval = mean_interval(std::vector<double>{7});
  EXPECT_EQ(interval.center, 7);
  EXPECT_TRUE(std::isinf(interval.low) && std::isinf(interval.high));
}

// Wilcoxon's own example as Hollander, Wolfe and Chicken give it (table 3.1): depression before and after a drug. R's
// wilcox.test(conf.int = TRUE) has the same estimate; its exact interval of 96.1 % is -0.786 to -0.010.
TEST(HodgesLehmannInterval, OfAKnownExample) {
  const std::vector<double> changes{0.878 - 1.83, 0.647 - 0.50, 0.598 - 1.62, 2.05 - 2.48, 1.06 - 1.68,
                                    1.29 - 1.88,  1.06 - 1.55,  3.14 - 3.06,  1.29 - 1.30};
  const Interval interval = hodges_lehmann_interval(changes);
  EXPECT_NEAR(interval.center, -0.46, 1e-9);
  EXPECT_NEAR(interval.low, -0.786, 1e-9);
  EXPECT_NEAR(interval.high, -0.010, 1e-9);
}

TEST(HodgesLehmannInterval, HardlyMovesWithValuesFarOff) {
  std::vector<double> values(30);
  std::iota(values.begin(), values.end(), 1);
  std::vector<double> disturbed = values;
  disturbed.back() = 1e6;
  EXPECT_EQ(hodges_lehmann_interval(values).center, 15.5);
  EXPECT_NEAR(hodges_lehmann_interval(disturbed).center, 15.5, 0.5);
  EXPECT_NEAR(hodges_lehmann_interval(disturbed).high, hodges_lehmann_interval(values).high, 0.5);
}

TEST(HodgesLehmannInterval, HoldsTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::student_t_distribution<double> heavy_tails(3);
  int held = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(40);
    for (double& value : values) {
      value = 7 + heavy_tails(random);
    }
    const Interval interval = hodges_lehmann_interval(values);
    held += interval.low <= 7 && 7 <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.015);  // three standard errors
}

TEST(HodgesLehmannInterval, OfTooFewIsUnbounded) {
  EXPECT_EQ(hodges_lehmann_interval({}).center, 0);
  const Interval interval = hodges_lehmann_interval(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_EQ(interval.center, 3);
  EXPECT_TRUE(std::isinf(interval.low) && std::isinf(interval.high));
}

// By hand: means 3 and 2, t 12.7062 with one degree of freedom; a = 4 - t^2 / 10,000, b = 6, c = 9 - t^2 / 2,500.
TEST(RatioInterval, IsThatOfFieller) {
  const Interval interval = ratio_interval(std::vector<double>{2.98, 3.02}, std::vector<double>{1.99, 2.01});
  EXPECT_DOUBLE_EQ(interval.center, 1.5);
  const double square = 12.706205 * 12.706205;
  const double a = 4 - square * 1e-4;
  const double b = 6 - square * 2e-4;
  const double c = 9 - square * 4e-4;
  EXPECT_NEAR(interval.low, (b - std::sqrt(b * b - a * c)) / a, 1e-6);
  EXPECT_NEAR(interval.high, (b + std::sqrt(b * b - a * c)) / a, 1e-6);
  EXPECT_LT(interval.low, 1.5);
  EXPECT_GT(interval.high, 1.5);
}

// Both values of a pair grow and shrink with what else the machine does; the interval holds the ratio all the same.
TEST(RatioInterval, HoldsTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise;
  int held = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> x;
    std::vector<double> y;
    for (int round = 0; round < 8; ++round) {
      const double common = noise(random);
      x.push_back(8 + common + noise(random));
      y.push_back(10 + common + 2 * noise(random));
    }
    const Interval interval = ratio_interval(x, y);
    held += interval.low <= 0.8 && 0.8 <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.015);  // three standard errors
}

TEST(RatioInterval, IsUnboundedWhereTheDivisorMayBeZero) {
  for (const std::vector<double>& divisors :
       {std::vector<double>{-1, 1, 2}, std::vector<double>{1}, std::vector<double>{-1, 1}}) {
    const Interval interval = ratio_interval(std::vector<double>{5, 5, 5}, divisors);
    EXPECT_TRUE(std::isinf(interval.low) && std::isinf(interval.high));
  }
  EXPECT_EQ(ratio_interval(std::vector<double>{5, 5}, std::vector<double>{-3, -3}).center, 0);
}

TEST(Line, RunsThroughBothPoints) {
  const Line line = line_through({10, 25}, {60, 125});
  EXPECT_DOUBLE_EQ(line.slope, 2);
  EXPECT_DOUBLE_EQ(line.start, 5);
}

TEST(Line, HasNoSlopeThroughPointsOfOneX) {
  const Line line = line_through({10, 25}, {10, 30});
  EXPECT_EQ(line.slope, 0);
  EXPECT_EQ(line.start, 25);
}

TEST(InterleavedMedians, CallsTheContendersInTurn) {
  std::vector<char> order;
  double count = 0;
  const std::vector<std::function<double()>> contenders{[&] {
                                                          order.push_back('a');
                                                          return ++count;
                                                        },
                                                        [&] {
                                                          order.push_back('b');
                                                          return 10 * count;
                                                        }};
  EXPECT_EQ(interleaved_medians(3, contenders), (std::vector<double>{2, 20}));
  EXPECT_EQ(order, (std::vector<char>{'a', 'b', 'a', 'b', 'a', 'b'}));
}

TEST(Measurement, RatioIsAboveOneWhereWeAreBetter) {
  Measurement time{.name = "t", .value = 2, .unit = "s", .peer = "other", .peer_value = 6};
  EXPECT_EQ(time.ratio(), 3);
  Measurement rate{.name = "r", .value = 6, .unit = "1/s", .better = Better::kHigher, .peer = "other"};
  rate.peer_value = 2;
  EXPECT_EQ(rate.ratio(), 3);
  time.peer.clear();
  EXPECT_EQ(time.ratio(), std::nullopt);
}

TEST(Measurement, MeetsItsGoalOnlyWithTheRatioToo) {
  Measurement time{.name = "t", .value = 2, .unit = "s", .peer = "other", .peer_value = 6};
  EXPECT_EQ(time.is_met(), std::nullopt);
  time.goal = 2;
  EXPECT_EQ(time.is_met(), true);
  time.goal_ratio = 4;
  EXPECT_EQ(time.is_met(), false);
  time.goal_ratio = 3;
  EXPECT_EQ(time.is_met(), true);
  time.goal = 1.9;
  EXPECT_EQ(time.is_met(), false);
}

TEST(Report, CountsWhatIsSkipped) {
  std::ostringstream json;
  Report report(json, true);
  EXPECT_EQ(report.skipped(), 0);
  report.skip("bolt", "llvm-bolt-19 is missing");
  EXPECT_EQ(report.skipped(), 1);
  EXPECT_EQ(json.str(), "{\"name\":\"bolt\",\"skipped\":\"llvm-bolt-19 is missing\"}\n");
  EXPECT_EQ(skipped_table_row("bolt", "llvm-bolt-19 is missing"),
            "| `bolt` | skipped |  |  |  |  |  |  | llvm-bolt-19 is missing |\n");
}

TEST(Report, WritesAJsonLineForEachMeasurement) {
  std::ostringstream out;
  Report report(out, true);
  report.add({.name = "frame-ns", .value = 50, .unit = "ns", .peer = "libunwind", .peer_value = 400});
  report.add({.name = "start-up-s", .value = 0.5, .unit = "s"});
  EXPECT_EQ(
      out.str(),
      R"({"name":"frame-ns","value":50.0,"unit":"ns","peer":"libunwind","peer_value":400.0,"ratio":8.0})"
      "\n"
      R"({"name":"start-up-s","value":0.5,"unit":"s","peer":null,"peer_value":null,"ratio":null})"
      "\n");
}

TEST(Report, TableSaysWhetherTheGoalIsMet) {
  EXPECT_EQ(table_row({.name = "frame-ns",
                       .value = 158.4,
                       .unit = "ns",
                       .peer = "libunwind",
                       .peer_value = 886,
                       .goal = 100,
                       .note = "warm"}),
            "| `frame-ns` | 158 | ns | ≤ 100 | **no** | libunwind | 886 | 5.59 | warm |\n");
}

TEST(Child, HasTheUsageOfAProgramThatEnded) {
  const auto usage = run_to_end({"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"});
  ASSERT_TRUE(usage) << usage.error().text();
  EXPECT_GT(usage->cpu_s, 0);
}

TEST(Child, FailsWhereTheProgramFails) {
  const auto failed = run_to_end({"sh", "-c", "exit 3"});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().text().find("status 3"), std::string::npos) << failed.error().text();
  EXPECT_FALSE(run_to_end({"/no/such/program"}));
}

TEST(Program, AnswersAWrongCommandLineWithStatusTwo) {
  const std::vector<Part> parts{{"one", "the first", [](const Flags&, Report&) { return Status(); }}};
  const auto run = [&](std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    return run_program("Tests.", parts, static_cast<int>(argv.size()), argv.data());
  };
  EXPECT_EQ(run({"x_bench", "--fast"}), 2);
  EXPECT_EQ(run({"x_bench", "--only", "two"}), 2);
  EXPECT_EQ(run({"x_bench", "--only", "one", "--json"}), 0);
}

TEST(Program, MeasuresTheOtherPartsWhereOneFails) {
  int measured = 0;
  const std::vector<Part> parts{
      {"broken", "", [](const Flags&, Report&) { return Status(fail(ErrorCode::kIo, "no luck")); }},
      {"sound", "", [&](const Flags& flags, Report&) {
         measured += flags.quick ? 1 : 0;
         return Status();
       }}};
  std::string name = "x_bench";
  std::string quick = "--quick";
  std::vector<char*> argv{name.data(), quick.data()};
  EXPECT_EQ(run_program("Tests.", parts, 2, argv.data()), 1);
  EXPECT_EQ(measured, 1);
}

}  // namespace
}  // namespace plimsoll::bench
