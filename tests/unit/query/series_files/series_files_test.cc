#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "query/series_files/arm_values.h"
#include "query/series_files/pooling_table.h"
#include "query/series_files/service_series.h"

namespace plimsoll::query::series_files_test {
namespace {

TEST(ArmValues, AreReadFromCsvAndJson) {
  constexpr const char* kCsv =
      "arm,time,user,value,place\n"
      "control,2026-11-29T00:00:00Z,ann,12.5,eu\n"
      "test,1764374400.5,bob,13,us\n"
      "canary,1764374400,eve,1,us\n";
  constexpr const char* kJson =
      R"([{"arm": "control", "time": "2026-11-29T00:00:00Z", "user": "ann", "value": 12.5, "place": "eu"},
          {"arm": "test", "time": 1764374400.5, "user": "bob", "value": 13, "place": "us"},
          {"arm": "canary", "time": 1764374400, "user": "eve", "value": 1, "place": "us"}])";
  for (const char* text : {kCsv, kJson}) {
    const auto arms = read_arm_values({.name = "f", .text = text}, {});
    ASSERT_TRUE(arms) << arms.error().text();
    ASSERT_EQ(arms->control.size(), 1);
    ASSERT_EQ(arms->test.size(), 1);
    EXPECT_EQ(arms->other_arms, 1);
    EXPECT_EQ(arms->control[0].value, 12.5);
    EXPECT_EQ(arms->test[0].time_ns, 1'764'374'400'500'000'000);
    EXPECT_NE(arms->control[0].place, arms->test[0].place);
    EXPECT_EQ(arms->test[0].count, 1);
  }
}

TEST(ArmValues, ErrorsNameFileAndLine) {
  const auto error = [](const char* text) {
    const auto arms = read_arm_values({.name = "f.csv", .text = text}, {});
    return arms ? std::string() : arms.error().message;
  };
  EXPECT_EQ(error("time,arm,value\n"), "f.csv: no such column: \"user\"");
  EXPECT_EQ(error("time,arm,user,value\n1,control,a,fast\n"),
            "f.csv: line 2: value must be a number of at least 0, is \"fast\"");
  EXPECT_EQ(error("time,arm,user,value\n-1h,control,a,1\n"),
            "f.csv: line 2: time must be RFC 3339 or seconds since 1970, is \"-1h\"");
  EXPECT_EQ(error("time,arm,user,value\n1,control,a,1\n"), "f.csv: no values of the arm \"test\"");
  EXPECT_EQ(error("[1"), "f.csv: this is no JSON");
  EXPECT_EQ(error("[1]"), "f.csv: record 1: no such column: \"time\"");
}

TEST(ServiceSeries, HasTheStepsThatAllServicesHave) {
  const auto series = read_service_series({.name = "f",
                                           .text = "time,service,cpus\n"
                                                   "0,web,1\n0.01,web,2\n0.02,web,3\n0.03,web,4\n"
                                                   "0,db,5\n0.01,db,6\n0.03,db,7\n0.03,db,1\n"});
  ASSERT_TRUE(series) << series.error().text();
  EXPECT_EQ(series->names, (std::vector<std::string>{"db", "web"}));
  EXPECT_EQ(series->services[0], (std::vector<double>{5, 6, 8}));
  EXPECT_EQ(series->services[1], (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(series->step_ns, 10'000'000);
  EXPECT_EQ(series->left_out, 1);
  EXPECT_EQ(series->gaps, 1);
}

// Times of two services, 10 ms apart since November 2025; the second's are early or late by up to `scatter_us`.
std::string unix_times(int steps, int scatter_us) {
  std::string text = "time,service,cpus\n";
  std::mt19937_64 random(1);
  for (int step = 0; step < steps; ++step) {
    const int us = 500'000 + step * 10'000;
    const int off =
        scatter_us > 0 ? static_cast<int>(random() % static_cast<unsigned>(2 * scatter_us)) - scatter_us : 0;
    text += fmt::format("{}.{:06},db,1\n{}.{:06},web,2\n", 1764374400 + us / 1'000'000, us % 1'000'000,
                        1764374400 + (us + off) / 1'000'000, (us + off) % 1'000'000);
  }
  return text;
}

TEST(ServiceSeries, HasStepsOfUnixSeconds) {
  constexpr int kSteps = 20'000;
  for (const int scatter_us : {0, 400}) {
    const auto series = read_service_series({.name = "f", .text = unix_times(kSteps, scatter_us)});
    ASSERT_TRUE(series) << series.error().text();
    EXPECT_NEAR(static_cast<double>(series->step_ns), 1e7, 1) << scatter_us;
    EXPECT_EQ(series->services[0].size(), kSteps);
    EXPECT_EQ(series->left_out, 0);
    EXPECT_EQ(series->gaps, 0);
  }
}

TEST(ServiceSeries, FindsTheStepOfTimesThatScatter) {
  // Every hundredth step is missing, and once a thousand in a row.
  std::string text = "time,service,cpus\n";
  std::mt19937_64 random(2);
  for (int step = 0; step < 20'000; ++step) {
    if (step % 100 == 7 || (step > 5000 && step < 6000)) {
      continue;
    }
    const int us = 10'000 + step * 10'000 + (step == 0 ? 0 : static_cast<int>(random() % 1000) - 500);
    text += fmt::format("{}.{:06},db,1\n{}.{:06},web,2\n", us / 1'000'000, us % 1'000'000, us / 1'000'000,
                        us % 1'000'000);
  }
  const auto series = read_service_series({.name = "f", .text = text});
  ASSERT_TRUE(series) << series.error().text();
  EXPECT_NEAR(static_cast<double>(series->step_ns), 1e7, 50);
  EXPECT_EQ(series->services[0].size(), 20'000 - 999 - 190);
  EXPECT_EQ(series->gaps, 191);
}

TEST(ServiceSeries, RefusesTimesThatAreNoneSince1970) {
  const auto error = [](const char* time) {
    const auto series =
        read_service_series({.name = "f", .text = fmt::format("time,service,cpus\n{},db,1\n", time)});
    return series ? std::string() : series.error().message;
  };
  // Before 1970, milliseconds, and what 64 bits of nanoseconds do not hold.
  for (const char* time :
       {"-5", "1764374400000", "9000000001", "1e300", "1960-01-01T00:00:00Z", "", ".", "1.2.3"}) {
    EXPECT_EQ(error(time),
              fmt::format("f: line 2: time must be RFC 3339 or seconds since 1970, is \"{}\"", time));
  }
  for (const char* time : {"0", "9000000000", "1.5e9", "1764374400.123456789012", "2026-11-29T00:00:00Z"}) {
    EXPECT_EQ(error(time), "f: pooling requires two services with two times each") << time;
  }
}

TEST(PoolingTable, SaysThatASeriesIsTooShortForPairs) {
  const auto series =
      read_service_series({.name = "f", .text = "time,service,cpus\n0,web,1\n1,web,2\n0,db,2\n1,db,1\n"});
  ASSERT_TRUE(series);
  const auto table = pooling_table(*series, {});
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 7);
  const auto& pair = table->rows.back();
  EXPECT_EQ(std::get<std::string>(pair[column_of(*table, "kind")]), "pair");
  EXPECT_NE(std::get<std::string>(pair[column_of(*table, "verdict")]).find("too few"), std::string::npos);
}

// Services of short bursts; the last one follows the first by 3 steps.
ServiceSeries bursty_services(size_t services, size_t steps) {
  ServiceSeries series;
  series.step_ns = 10'000'000;
  std::mt19937_64 random(1);
  for (size_t i = 0; i < services; ++i) {
    series.names.push_back(fmt::format("service-{:02}", i));
    std::vector<double>& cpus = series.services.emplace_back();
    for (size_t step = 0; step < steps; ++step) {
      cpus.push_back(random() % 10 == 0 ? 4 : 1);
    }
  }
  for (size_t step = 3; step < steps; ++step) {
    series.services.back()[step] = series.services.front()[step - 3];
  }
  return series;
}

std::vector<std::string> pairs_with(const Table& table, std::string_view verdict) {
  std::vector<std::string> names;
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[column_of(table, "verdict")]).starts_with(verdict)) {
      names.push_back(std::get<std::string>(row[column_of(table, "name")]));
    }
  }
  return names;
}

TEST(PoolingTable, FindsTheOnePairOfManyThatIsDependent) {
  // Of 120 pairs, the smallest of 2,001 permutations comes out at 0.06 by Holm.
  const auto table = pooling_table(bursty_services(16, 1000), {});
  ASSERT_TRUE(table);
  EXPECT_EQ(pairs_with(*table, "dependent"), (std::vector<std::string>{"service-00 + service-15"}));
  EXPECT_EQ(pairs_with(*table, "no dependence found").size(), 119);
}

TEST(PoolingTable, PairsThatCannotBeTestedCostOthersNothing) {
  // Services that never vary, so that one pair of 45 is tested: its p is that of one pair.
  ServiceSeries series = bursty_services(10, 1000);
  for (size_t i = 1; i + 1 < series.services.size(); ++i) {
    series.services[i].assign(1000, 1);
  }
  const auto table = pooling_table(series, {});
  ASSERT_TRUE(table);
  EXPECT_EQ(pairs_with(*table, "a series does not vary").size(), 44);
  for (const auto& row : table->rows) {
    if (std::get<std::string>(row[column_of(*table, "name")]) == "service-00 + service-09") {
      EXPECT_NEAR(std::get<double>(row[column_of(*table, "p")]), 1.0 / 2001, 1e-12);
    }
  }
}

}  // namespace
}  // namespace plimsoll::query::series_files_test
