#include "statistics/percentile_change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/fleets/simulated_weeks.h"

namespace plimsoll::statistics::percentile_change_test {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

// Users 0 to users - 1 with a request in each hour, which takes 10 ms + 1 ms for each user below it, times `factor`.
std::vector<ArmValue> steady(uint32_t users, int hours, double factor) {
  std::vector<ArmValue> values;
  for (int hour = 0; hour < hours; ++hour) {
    for (uint32_t user = 0; user < users; ++user) {
      values.push_back({.time_ns = hour * kHourNs, .user = user, .value = factor * (10 + user)});
    }
  }
  return values;
}

TEST(PercentileChange, ComparesPercentiles) {
  const auto compared = compare_percentiles(steady(1001, 48, 1), steady(1001, 48, 1.5), {});

  ASSERT_TRUE(compared);
  ASSERT_EQ(compared->rows.size(), 3);
  EXPECT_NEAR(compared->rows[0].control, 10 + 500, 1);
  EXPECT_NEAR(compared->rows[1].control, 10 + 950, 1);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(compared->rows[i].change, 0.5, 1e-9);
    EXPECT_EQ(compared->rows[i].verdict, PercentileVerdict::kMore);
    EXPECT_LT(*compared->rows[i].low, 0.5);
    EXPECT_GT(*compared->rows[i].high, 0.5);
  }
  EXPECT_EQ(compared->time_ns, 48 * kHourNs);
  EXPECT_EQ(compared->degrees_of_time, 3);
}

TEST(PercentileChange, SaysWhichArmsHaveTooFewUsers) {
  // The slowest 5 % of 100 users are five users, who may be others next time.
  const auto few = compare_percentiles(steady(100, 48, 1), steady(100, 48, 1.5), {.shares = {0.5, 0.95}});
  ASSERT_TRUE(few);
  EXPECT_TRUE(few->rows[0].low);
  EXPECT_FALSE(few->rows[1].low);
  EXPECT_EQ(few->rows[1].verdict, PercentileVerdict::kTooFewUsers);
  EXPECT_NEAR(few->rows[1].users_beyond, 5, 0.5);
}

TEST(PercentileChange, SaysHowManyUsersDetectAChange) {
  const auto coarse =
      compare_percentiles(steady(200, 48, 1), steady(200, 48, 1), {.shares = {0.5}, .detect = 0.5});
  const auto fine =
      compare_percentiles(steady(200, 48, 1), steady(200, 48, 1), {.shares = {0.5}, .detect = 0.01});

  ASSERT_TRUE(coarse && fine);
  EXPECT_EQ(coarse->rows[0].verdict, PercentileVerdict::kNoDifference);
  EXPECT_LT(*coarse->rows[0].users_needed, 200);
  EXPECT_EQ(fine->rows[0].verdict, PercentileVerdict::kTooFewUsers);
  EXPECT_GT(*fine->rows[0].users_needed, 200);
}

TEST(PercentileChange, IntervalsOfRoundedValuesCountIncidents) {
  // 2,000 users with 10, 20 or 30 ms: 44, 12 and 44 % of them. The median is 20 ms, and two standard errors by users do not move it. In an
  // incident of the test arm, a day of four, all its requests take 10 ms more.
  const auto rounded = [](bool is_test) {
    std::vector<ArmValue> values = steady(2000, 96, 1);
    for (ArmValue& value : values) {
      const uint32_t percent = value.user % 100;
      const bool is_incident = is_test && value.time_ns / kHourNs / 24 == 1;
      value.value = (percent < 44 ? 10 : percent < 56 ? 20 : 30) + (is_incident ? 10 : 0);
    }
    return values;
  };
  const auto compared = compare_percentiles(rounded(false), rounded(true), {.shares = {0.5}});

  ASSERT_TRUE(compared && compared->rows[0].low);
  EXPECT_EQ(compared->rows[0].control, 20);
  EXPECT_EQ(compared->rows[0].test, 20);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kNoDifference);
  EXPECT_GT(*compared->rows[0].high - *compared->rows[0].low, 0.2);
}

TEST(PercentileChange, SaysThatMoreUsersDoNotHelpAgainstIncidents) {
  // For a day of four the test arm is three times as slow; its 800 users are alike, so that they hardly vary.
  std::vector<ArmValue> control = steady(800, 96, 1);
  std::vector<ArmValue> test = control;
  for (ArmValue& value : test) {
    value.value *= value.time_ns / kHourNs / 24 == 1 ? 3 : 1;
  }
  const auto compared = compare_percentiles(control, test, {.shares = {0.5}, .detect = 0.05});

  ASSERT_TRUE(compared && compared->rows[0].low);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kTooLittleTime);
  EXPECT_FALSE(compared->rows[0].users_needed);
}

TEST(PercentileChange, SaysThatThereIsTooLittleTime) {
  const auto compared = compare_percentiles(steady(200, 17, 1), steady(200, 17, 1.5), {.shares = {0.5}});
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kTooLittleTime);
}

TEST(PercentileChange, GapsAreNoTime) {
  // Eight hours, and eight hours a month later: two blocks, not 45.
  std::vector<ArmValue> apart = steady(200, 8, 1);
  for (ArmValue value : steady(200, 8, 1)) {
    value.time_ns += 30 * 24 * kHourNs;
    apart.push_back(value);
  }
  const auto compared = compare_percentiles(apart, apart, {.shares = {0.5}});
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->time_ns, (30 * 24 + 8) * kHourNs);
  EXPECT_EQ(compared->degrees_of_time, 2);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kTooLittleTime);
}

// One request each, 20 and 47 hours after an hour of all users: three blocks of 16 hours have values of both arms, and one tells something.
TEST(PercentileChange, StrayRequestsAreNoTime) {
  std::vector<ArmValue> values = steady(200, 1, 1);
  for (const int hour : {20, 47}) {
    values.push_back({.time_ns = hour * kHourNs, .user = 0, .value = 10});
  }
  const auto compared = compare_percentiles(values, values, {.shares = {0.5}});
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->time_ns, 48 * kHourNs);
  EXPECT_EQ(compared->degrees_of_time, 1);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kTooLittleTime);
  EXPECT_FALSE(compared->rows[0].low);
}

// Requests follow the hour of the day by a factor of six, as in the simulated weeks: no block is missing for that.
TEST(PercentileChange, NightsAreTimeToo) {
  const auto days = [](int count) {
    std::vector<ArmValue> values = steady(40, 24 * count, 1);
    for (ArmValue& value : values) {
      const auto hour = static_cast<double>(value.time_ns / kHourNs % 24);
      value.count = 1 + 0.7 * std::sin(2 * std::numbers::pi * (hour - 9) / 24);
    }
    return compare_percentiles(values, values, {.shares = {0.5}});
  };
  const auto two = days(2);
  const auto seven = days(7);
  const auto twenty = days(20);
  ASSERT_TRUE(two && seven && twenty);
  EXPECT_EQ(two->degrees_of_time, 3);
  EXPECT_NE(two->rows[0].verdict, PercentileVerdict::kTooLittleTime);
  EXPECT_EQ(seven->degrees_of_time, 10);
  EXPECT_EQ(twenty->degrees_of_time, kMaxWaves);
}

TEST(PercentileChange, HasNoRelativeChangeOfZero) {
  const auto compared = compare_percentiles(steady(200, 48, 0), steady(200, 48, 1), {.shares = {0.5}});
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kZero);
}

TEST(PercentileChange, HasNoIntervalOfWhatMayBeZero) {
  // 98 of 200 users take no time: by another 200 users the median may be 0.
  std::vector<ArmValue> values = steady(200, 48, 1);
  for (ArmValue& value : values) {
    value.value = value.user < 98 ? 0 : value.value;
  }
  const auto compared = compare_percentiles(steady(200, 48, 2), values, {.shares = {0.5}});
  ASSERT_TRUE(compared);
  EXPECT_GT(compared->rows[0].test, 0);
  EXPECT_EQ(compared->rows[0].verdict, PercentileVerdict::kZero);
  EXPECT_NEAR(compared->rows[0].change, -0.5, 0.01);
  EXPECT_FALSE(compared->rows[0].low);
}

TEST(PercentileChange, CountsRequestsThatTookAsLongOnce) {
  std::vector<ArmValue> counted = steady(400, 48, 1);
  std::vector<ArmValue> repeated;
  for (ArmValue& value : counted) {
    value.count = value.user % 3 + 1;
    for (int i = 0; i < value.count; ++i) {
      repeated.push_back(value);
      repeated.back().count = 1;
    }
  }
  const auto of_counted = compare_percentiles(counted, steady(400, 48, 2), {.shares = {0.9}});
  const auto of_repeated = compare_percentiles(repeated, steady(400, 48, 2), {.shares = {0.9}});

  ASSERT_TRUE(of_counted && of_repeated && of_counted->rows[0].low);
  EXPECT_NEAR(*of_counted->rows[0].low, *of_repeated->rows[0].low, 1e-6);
  EXPECT_NEAR(*of_counted->rows[0].high, *of_repeated->rows[0].high, 1e-6);
}

TEST(PercentileChange, ComparesAtTheSameTimeAndPlaceOnly) {
  // Nights are twice as slow, and the test runs more at night; the control also ran on a third day.
  const auto at = [](uint32_t users, double factor, bool is_test) {
    std::vector<ArmValue> values = steady(users, is_test ? 48 : 72, factor);
    for (ArmValue& value : values) {
      const bool is_night = value.time_ns / kHourNs % 24 < 8;
      value.value *= is_night ? 2 : 1;
      value.count = is_night && is_test ? 10 : 1;
    }
    return values;
  };
  const auto compared = compare_percentiles(at(400, 1, false), at(400, 1, true), {.shares = {0.5}});

  ASSERT_TRUE(compared);
  EXPECT_NEAR(compared->rows[0].change, 0, 0.01);
  EXPECT_NEAR(compared->control_matched, 2.0 / 3, 1e-9);
  EXPECT_NEAR(compared->test_matched, 1, 1e-9);
}

TEST(PercentileChange, RefusesWhatCannotBeCompared) {
  const std::vector<ArmValue> values = steady(10, 48, 1);
  std::vector<ArmValue> elsewhere = values;
  std::vector<ArmValue> negative = values;
  elsewhere.front().place = 1;
  elsewhere.resize(1);
  negative.front().value = -1;
  std::vector<ArmValue> early = values;
  std::vector<ArmValue> late = values;
  early.front().time_ns = -1;
  late.front().time_ns = std::numeric_limits<int64_t>::max();

  EXPECT_FALSE(compare_percentiles({}, values, {}));
  EXPECT_FALSE(compare_percentiles(values, elsewhere, {}));
  EXPECT_FALSE(compare_percentiles(values, negative, {}));
  EXPECT_FALSE(compare_percentiles(values, early, {}));
  EXPECT_FALSE(compare_percentiles(late, values, {}));
  EXPECT_FALSE(compare_percentiles(values, values, {.shares = {1.0}}));
}

// query_bench --only weeks has 1,000 weeks of each kind.
TEST(PercentileCoverage, IsNominalOfSimulatedWeeks) {
  constexpr size_t kWeeks = 60;
  // Of 60 weeks of which 95 % hold on average, one in a thousand kinds has fewer.
  constexpr double kMinOfKind = 0.83;
  constexpr size_t kMinIntervals = 40;  // of which one in five hundred kinds has fewer
  double hits = 0;
  double intervals = 0;
  for (const fleets::WeekSpec& spec : fleets::week_specs()) {
    const fleets::WeekCoverage coverage = fleets::cover_weeks(spec, kWeeks, 1);
    EXPECT_EQ(coverage.weeks, kWeeks) << spec.name;
    for (size_t i = 0; i < fleets::kWeekShares.size(); ++i) {
      const auto& of = coverage.percentiles[i];
      hits += static_cast<double>(of.hits);
      intervals += static_cast<double>(of.with_interval);
      if (of.with_interval >= kMinIntervals) {
        EXPECT_GE(coverage.covered(i), kMinOfKind) << spec.name << " " << fleets::kWeekShares[i];
      }
    }
  }
  EXPECT_GE(hits / intervals, 0.94);
  EXPECT_LE(hits / intervals, 0.97);
}

}  // namespace
}  // namespace plimsoll::statistics::percentile_change_test
