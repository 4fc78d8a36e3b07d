// Random questions to random fleets, against sums made straight from the raw profiles, and margins of those.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query {
namespace {

using namespace model;

void expect_close(const Value& value, double expected) {
  EXPECT_LE(std::abs(std::get<double>(value) - expected), 1e-9 * std::abs(expected))
      << std::get<double>(value) << " is not " << expected;
}

void expect_close(const Value& value, std::optional<double> expected) {
  ASSERT_EQ(std::holds_alternative<double>(value), expected.has_value());
  if (expected) {
    expect_close(value, *expected);
  }
}

// Columns as top.h has them. Returns how many margins there were.
size_t expect_answer(const Table& table, const ExpectedTable& expected,
                     const std::map<Unit, statistics::SampledMachine>& machines, size_t dimensions) {
  size_t margins = 0;
  EXPECT_EQ(table.rows.size(), expected.rows.size());
  for (const auto& row : table.rows) {
    std::vector<std::string> group;
    for (size_t i = 0; i < dimensions; ++i) {
      group.push_back(std::get<std::string>(row[i]));
    }
    const auto found = expected.rows.find(group);
    if (found == expected.rows.end()) {
      ADD_FAILURE() << fmt::format("{}", fmt::join(group, ", "));
      continue;
    }
    size_t column = dimensions;
    for (const Sampled& part : {found->second.self, found->second.total}) {
      const statistics::Estimate estimate = expected_share(machines, part, expected.all);
      expect_close(row[column], sum(part));
      expect_close(row[column + 1], sum(part) / sum(expected.all));
      expect_close(row[column + 2], estimate.margin);
      expect_close(row[column + 3], estimate.low);
      expect_close(row[column + 4], estimate.high);
      EXPECT_EQ(std::get<std::string>(row[column + 5]), statistics::margin_kind_name(estimate.margin_kind));
      margins += estimate.margin ? 1 : 0;
      column += 6;
    }
  }
  return margins;
}

class RandomQueries : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomQueries, AgreeWithSumsOverTheRawProfiles) {
  constexpr uint64_t kProfiles = 60;
  constexpr int kQuestions = 30;
  Random random(GetParam());
  Fleet fleet;
  std::vector<Sample> samples;
  std::vector<wire::RawProfile> profiles;
  for (uint64_t seed = 0; seed < kProfiles; ++seed) {
    profiles.push_back(random_profile(random, seed));
    fleet.add(profiles.back());
  }
  const ObservedTimes observed = observed_times(profiles);
  for (const wire::RawProfile& profile : profiles) {
    add_samples(profile, observed, samples);
  }
  size_t rows = 0;
  size_t margins = 0;
  for (int i = 0; i < kQuestions; ++i) {
    const Question question = random_question(random, samples);
    SCOPED_TRACE([&] {
      std::string text;
      for (const auto& [name, value] : question.parameters()) {
        text += fmt::format(" {}=\"{}\"", name, value);
      }
      return text;
    }());
    const auto table = fleet.top(question.parameters());
    ASSERT_TRUE(table) << table.error().text();
    margins += expect_answer(*table, expected_answer(question, samples), sampled_machines(question, profiles),
                             question.by.size());
    rows += table->rows.size();
  }
  EXPECT_GT(rows, 100) << "the questions hardly select anything";
  EXPECT_GT(margins, 10) << "hardly any row has a margin";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomQueries, ::testing::Range(uint64_t{1}, uint64_t{11}));

}  // namespace
}  // namespace plimsoll::query
