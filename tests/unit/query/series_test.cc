#include "query/views/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/time.h"
#include "statistics/linearization.h"
#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const int64_t kMidnightNs = *parse_time_ns("2026-11-22T00:00:00Z", 0);

Result<Table> ask(const Fleet& fleet, const Parameters& parameters) {
  const auto request = parse_series(parameters, 0);
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = Snapshot::load(fleet.path());
  return snapshot ? series(*request, **snapshot) : Result<Table>(propagate(snapshot));
}

class Series : public ::testing::Test {
 protected:
  void add(int64_t from_ns, const std::string& stacks, int64_t length_ns = 10 * kNsPerSecond) {
    fleet_.add({.seed = ++seed_,
                .machine = fmt::format("m{}", seed_ % 2),
                .from_ns = from_ns,
                .length_ns = length_ns,
                .stacks = stacks});
  }

  // A line for each row: its time, name, self and total.
  std::string lines(const Parameters& parameters) const {
    const auto table = ask(fleet_, parameters);
    if (!table) {
      return table.error().text();
    }
    const std::string measure = column_of(*table, "self_share") < table->columns.size() ? "share" : "rate";
    std::string text;
    for (const auto& row : table->rows) {
      text += fmt::format("{} {} {:.4g} {:.4g}\n", std::get<std::string>(row[0]).substr(11, 5),
                          std::get<std::string>(row[2]),
                          std::get<double>(row[column_of(*table, "self_" + measure)]),
                          std::get<double>(row[column_of(*table, "total_" + measure)]));
    }
    return text;
  }

  Fleet fleet_;
  uint64_t seed_ = 0;
};

TEST_F(Series, FollowsTheLargestOfAllOfTheTime) {
  add(kMidnightNs, "main;lex 10\nmain;parse 30\n");
  add(kMidnightNs + kNsPerHour / 2, "main;lex 10\nmain;parse 30\nmain 20\n");
  add(kMidnightNs + 2 * kNsPerHour, "main;lex 90\nmain;copy 10\n");
  EXPECT_EQ(lines({{"bucket", "1h"}, {"limit", "3"}}),
            "00:00 lex 0.2 0.2\n"
            "00:00 parse 0.6 0.6\n"
            "00:00 main 0.2 1\n"
            "02:00 lex 0.9 0.9\n"
            "02:00 parse 0 0\n"
            "02:00 main 0 1\n");
}

TEST_F(Series, RatesArePerMachineAndSecond) {
  add(kMidnightNs, "main;lex 10\n");
  add(kMidnightNs, "main;lex 30\n");
  add(kMidnightNs + kNsPerHour, "main;lex 50\n", 5 * kNsPerSecond);
  EXPECT_EQ(lines({{"bucket", "1h"}, {"limit", "1"}, {"measure", "rate"}}),
            "00:00 lex 2 2\n"
            "01:00 lex 10 10\n");
}

TEST_F(Series, AProfileIsWhereItsMiddleIs) {
  add(kMidnightNs + kNsPerHour - 6 * kNsPerSecond, "lex 1\n");   // middle: one second before
  add(kMidnightNs + kNsPerHour - 5 * kNsPerSecond, "copy 1\n");  // at the full hour
  EXPECT_EQ(lines({{"bucket", "1h"}}),
            "00:00 copy 0 0\n"
            "00:00 lex 1 1\n"
            "01:00 copy 1 1\n"
            "01:00 lex 0 0\n");
}

TEST_F(Series, ProfilesThatAreLongerThanABucketAreSaid) {
  add(kMidnightNs, "lex 1\n", 30 * kNsPerSecond);
  const auto table = ask(fleet_, {{"bucket", "10s"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes, Contains(HasSubstr("profiles of up to 30 s are longer than a bucket")));
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "2026-11-22T00:00:10Z");
}

TEST_F(Series, UnlessSaidThereAreAFewDozenBucketsOfALengthThatPeopleCountIn) {
  for (int64_t hour = 0; hour < 48; ++hour) {
    add(kMidnightNs + hour * kNsPerHour, "lex 1\n");
  }
  const auto table = ask(fleet_, {});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes, Contains("steps of 3h; a row's time is the start of its step"));
  EXPECT_EQ(table->rows.size(), 16);
}

TEST_F(Series, RefusesMoreBucketsThanItCanTell) {
  for (int64_t i = 0; i <= static_cast<int64_t>(kMaxBuckets); ++i) {
    wire::RawProfile profile = make_profile({.seed = ++seed_, .from_ns = kMidnightNs + i * kNsPerSecond});
    ASSERT_TRUE(fleet_.ingest().accept(as_bytes(wire::encode(profile)), {}));
  }
  while (fleet_.ingest().build_pending()->profiles > 0) {
  }
  const auto refused = ask(fleet_, {{"bucket", "1s"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().text(),
      "2001 buckets, more than 2000 (field: bucket); give a longer bucket, or a shorter time (since, until)");
  EXPECT_TRUE(ask(fleet_, {{"bucket", "2s"}}));
}

TEST_F(Series, WhatDoesNotFitIsSaid) {
  add(kMidnightNs, "lex 1\n");
  EXPECT_THAT(lines({{"bucket", "soon"}}),
              HasSubstr("bucket is \"soon\", not a duration such as 5m, 1h or 1d"));
  EXPECT_THAT(lines({{"bukcet", "1h"}}), HasSubstr("did you mean bucket?"));
  EXPECT_THAT(lines({{"measure", "sum"}}), HasSubstr("measure is \"sum\", not share or rate"));
  EXPECT_THAT(lines({{"where", "job=none"}}), HasSubstr("the selection has no samples"));
}

// --- random series in random fleets, against sums made straight from the raw profiles

using model::Random;
using model::Sampled;
using model::Unit;

struct Bucket {
  model::ExpectedTable table;
  std::map<Unit, statistics::SampledMachine> machines;
  std::map<Unit, double> seconds;  // weighted, of machines
};

class RandomSeries : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr int64_t kBucketNs = 3 * kNsPerSecond;

  RandomSeries() {
    constexpr uint64_t kProfiles = 80;
    for (uint64_t seed = 0; seed < kProfiles; ++seed) {
      wire::RawProfile profile = model::random_profile(random_, seed);
      const int64_t later_ns = static_cast<int64_t>(model::below(random_, 10)) * kNsPerSecond;
      for (wire::ClockPair* clocks :
           {profile.mutable_window()->mutable_start(), profile.mutable_window()->mutable_end()}) {
        clocks->set_wall_ns(clocks->wall_ns() + later_ns);
      }
      fleet_.add(profile);
      profiles_.push_back(profile);
      model::add_samples(profile, model::observed_times({profile}), samples_);
    }
  }

  std::map<std::string, Bucket> expected(const model::Question& question) const {
    const model::ObservedTimes observed = model::observed_times(profiles_);
    const auto strata = model::sampled_machines({}, profiles_);
    std::map<int64_t, std::vector<wire::RawProfile>> profiles;
    for (const wire::RawProfile& profile : profiles_) {
      const bool has_event = std::ranges::any_of(
          profile.events(), [&](const wire::Event& event) { return event.name() == question.event; });
      const int64_t middle_ns =
          std::midpoint(profile.window().start().wall_ns(), profile.window().end().wall_ns());
      if (has_event) {
        profiles[middle_ns / kBucketNs * kBucketNs].push_back(profile);
      }
    }
    std::map<std::string, Bucket> buckets;
    for (const auto& [start_ns, of_bucket] : profiles) {
      Bucket bucket;
      std::vector<model::Sample> samples;
      bucket.machines = model::sampled_machines(question, of_bucket);
      for (auto& [unit, machine] : bucket.machines) {
        machine.stratum = strata.at(unit).stratum;
      }
      for (const wire::RawProfile& profile : of_bucket) {
        model::add_samples(profile, observed, samples);
        if (bucket.machines.contains(model::unit_of(profile))) {
          bucket.seconds[model::unit_of(profile)] +=
              model::weight(profile, question.event, observed) * model::length_ns(profile) / 1e9;
        }
      }
      bucket.table = model::expected_answer(question, samples);
      if (!bucket.machines.empty()) {
        buckets[format_time(start_ns)] = std::move(bucket);
      }
    }
    return buckets;
  }

  static statistics::Estimate estimate(const Bucket& bucket, const Sampled& row, bool is_share) {
    std::vector<statistics::SampledMachine> machines;
    std::array<std::vector<double>, 4> columns;
    const auto sums = [](const Sampled& of, const Unit& unit) {
      return of.contains(unit) ? of.at(unit) : model::Sums();
    };
    for (const auto& [unit, machine] : bucket.machines) {
      machines.push_back(machine);
      columns[0].push_back(sums(row, unit).value);
      columns[1].push_back(is_share ? sums(bucket.table.all, unit).value : bucket.seconds.at(unit));
      columns[2].push_back(sums(row, unit).squares);
      columns[3].push_back(sums(bucket.table.all, unit).squares);
    }
    const statistics::RowSums of_row{columns[0], columns[1], columns[2], columns[3]};
    const statistics::Design design(machines);
    return is_share ? statistics::share(design, of_row) : statistics::rate(design, of_row);
  }

  static void expect_close(const Value& value, double expected) {
    EXPECT_LE(std::abs(std::get<double>(value) - expected), 1e-9 * std::abs(expected) + 1e-15)
        << std::get<double>(value) << " is not " << expected;
  }

  void expect_part(const Table& table, const std::vector<Value>& row, const std::string& name,
                   const Bucket& bucket, const Sampled& part, bool is_share) {
    const statistics::Estimate expected = estimate(bucket, part, is_share);
    const Value& value = row[column_of(table, name)];
    const Value& margin = row[column_of(table, name + "_margin")];
    if (std::holds_alternative<double>(value)) {
      expect_close(value, expected.value.value_or(0));
    } else {
      EXPECT_TRUE(bucket.table.all.empty());
    }
    EXPECT_EQ(std::get<std::string>(row[column_of(table, name + "_margin_kind")]),
              statistics::margin_kind_name(expected.margin_kind));
    ASSERT_EQ(std::holds_alternative<double>(margin), expected.margin.has_value());
    if (expected.margin) {
      ++margins_;
      expect_close(margin, *expected.margin);
    }
  }

  Random random_{GetParam()};
  Fleet fleet_;
  std::vector<wire::RawProfile> profiles_;
  std::vector<model::Sample> samples_;  // for questions
  size_t margins_ = 0;
};

TEST_P(RandomSeries, AgreesWithSumsOverTheRawProfilesOfEachBucket) {
  size_t rows = 0;
  for (int i = 0; i < 30; ++i) {
    const model::Question question = model::random_question(random_, samples_);
    const bool is_share = i % 2 == 0;
    const std::string measure = is_share ? "share" : "rate";
    Parameters parameters = question.parameters();
    parameters[1].second = "10000";  // limit
    parameters.emplace_back("bucket", "3s");
    parameters.emplace_back("measure", measure);
    const auto table = ask(fleet_, parameters);
    const std::map<std::string, Bucket> buckets = expected(question);
    if (!table) {
      EXPECT_THAT(table.error().text(), HasSubstr("no samples"));
      EXPECT_TRUE(
          std::ranges::all_of(buckets, [](const auto& bucket) { return bucket.second.table.all.empty(); }));
      continue;
    }
    std::map<std::string, size_t> rows_of_bucket;
    for (const auto& row : table->rows) {
      const auto& time = std::get<std::string>(row[0]);
      ASSERT_TRUE(buckets.contains(time)) << time;
      const Bucket& bucket = buckets.at(time);
      EXPECT_EQ(std::get<int64_t>(row[1]), static_cast<int64_t>(bucket.machines.size()));
      ++rows_of_bucket[time];
      std::vector<std::string> name;
      for (size_t column = 0; column < question.by.size(); ++column) {
        name.push_back(std::get<std::string>(row[2 + column]));
      }
      const auto found = bucket.table.rows.find(name);
      const model::Expected expected = found == bucket.table.rows.end() ? model::Expected() : found->second;
      expect_part(*table, row, "self_" + measure, bucket, expected.self, is_share);
      expect_part(*table, row, "total_" + measure, bucket, expected.total, is_share);
    }
    EXPECT_EQ(rows_of_bucket.size(), buckets.size());
    rows += table->rows.size();
  }
  EXPECT_GT(rows, 100) << "the questions hardly select anything";
  EXPECT_GT(margins_, 5) << "hardly any row has a margin";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSeries, ::testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace plimsoll::query
