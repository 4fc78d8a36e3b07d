// Callers and callees of random functions in random fleets, against sums made straight from the raw profiles.
#include <gtest/gtest.h>

#include <cmath>

#include "query/views/callers.h"
#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query {
namespace {

using model::Condition;
using model::Random;
using model::Sample;

class RandomCallers : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomCallers, AgreeWithSumsOverTheRawProfiles) {
  Random random(GetParam());
  Fleet fleet;
  std::vector<wire::RawProfile> profiles;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    profiles.push_back(model::random_profile(random, seed));
    fleet.add(profiles.back());
  }
  std::vector<Sample> samples;
  const model::ObservedTimes observed = model::observed_times(profiles);
  for (const wire::RawProfile& profile : profiles) {
    model::add_samples(profile, observed, samples);
  }
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot);
  size_t rows = 0;
  for (int i = 0; i < 40; ++i) {
    const model::Question question = model::random_question(random, samples);
    const Sample& sample = samples[model::below(random, samples.size())];
    const std::string dimension = model::one_of(random, {"function", "function", "file", "binary"});
    const Condition of{
        dimension, false,
        model::text_of(sample, sample.frames[model::below(random, sample.frames.size())], dimension)};
    const auto neighbour = i % 2 == 0 ? Neighbour::kCaller : Neighbour::kCallee;
    std::map<std::string, double> expected;
    question.for_each(samples, [&](const Sample& candidate) {
      if (of.holds(candidate)) {
        expected[model::neighbour_of(candidate, of, neighbour)] += candidate.value;
      }
    });
    Parameters parameters{{"event", question.event}, {"of", of.text()}, {"limit", "1000"}, {"margins", "no"}};
    question.add_filters(parameters);
    const auto request =
        neighbour == Neighbour::kCaller ? parse_callers(parameters, 0) : parse_callees(parameters, 0);
    ASSERT_TRUE(request) << request.error().text();
    const auto table = callers(*request, **snapshot);
    ASSERT_EQ(table.has_value(), !expected.empty()) << (table ? "" : table.error().text());
    if (!table) {
      continue;
    }
    EXPECT_EQ(table->rows.size(), expected.size()) << of.text();
    for (const auto& row : table->rows) {
      const double value = expected[std::get<std::string>(row[0])];
      EXPECT_LE(std::abs(std::get<double>(row[1]) - value), 1e-9 * value) << of.text();
    }
    rows += table->rows.size();
  }
  EXPECT_GT(rows, 50) << "the questions hardly select anything";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCallers, ::testing::Range(uint64_t{1}, uint64_t{11}));

}  // namespace
}  // namespace plimsoll::query
