#include "query/views/shared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/views/top.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/shared_model.h"

namespace plimsoll::query::shared_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<Table> ask(const Fleet& fleet, const Parameters& parameters) {
  const auto request = parse_shared(parameters, 0);
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = Snapshot::load(fleet.path());
  return snapshot ? shared(*request, **snapshot) : Result<Table>(propagate(snapshot));
}

// Each job has a function of its own that takes most of its time; memcpy takes 4 % of all but of none over 5 %.
class SharedTest : public ::testing::Test {
 protected:
  SharedTest() {
    fleet_.add({.seed = 1,
                .machine = "m1",
                .job = "search",
                .stacks = "main;rank 9500\nmain;rank;memcpy 400\nmain;log 100\n"});
    fleet_.add(
        {.seed = 2, .machine = "m2", .job = "mail", .stacks = "main;index 4780\nmain;index;memcpy 220\n"});
    fleet_.add({.seed = 3,
                .machine = "m3",
                .job = "ads",
                .stacks = "main;bid 4820\nmain;bid;memcpy 170\nmain;log 10\n"});
  }

  Fleet fleet_;
};

TEST_F(SharedTest, IsWhatNoJobWouldNotice) {
  EXPECT_EQ(csv(ask(fleet_, {{"margins", "no"}})),
            "function,self,self_share,self_share_margin,self_share_low,self_share_high,self_margin_kind,"
            "spread_over,"
            "largest_part,largest_part_in,highest_share,highest_share_in\n"
            "memcpy,790,0.0395,,,,,3,0.5063291139240507,search,0.044,mail\n"
            "log,110,0.0055,,,,,2,0.9090909090909091,search,0.01,search\n");
}

TEST_F(SharedTest, SaysWhatItLeavesOut) {
  EXPECT_THAT(ask(fleet_, {})->notes,
              ElementsAre("excluded, run by one job only: 3 rows with 95.50 % of all"));
  EXPECT_THAT(ask(fleet_, {{"max_share", "3%"}})->notes,
              ElementsAre("excluded, more than 3.00 % of a job: 1 row with 3.95 % of all",
                          "excluded, run by one job only: 3 rows with 95.50 % of all"));
}

TEST_F(SharedTest, MarginsAreThoseOfTop) {
  const auto of_top = fleet_.top({{"by", "function"}});
  const auto of_shared = ask(fleet_, {});
  ASSERT_TRUE(of_top && of_shared);
  for (const auto& row : of_shared->rows) {
    const auto same = std::ranges::find(of_top->rows, row[0], [](const auto& other) { return other[0]; });
    ASSERT_NE(same, of_top->rows.end());
    for (const char* column :
         {"self_share", "self_share_margin", "self_share_low", "self_share_high", "self_margin_kind"}) {
      EXPECT_EQ(row[column_of(*of_shared, column)], (*same)[column_of(*of_top, column)]) << column;
    }
  }
}

TEST_F(SharedTest, TotalCountsWhatTheCodeCalls) {
  const auto table = ask(fleet_, {{"part", "total"}, {"max_share", "100%"}, {"limit", "2"}});
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[0][0], Value("main"));
  EXPECT_EQ(table->rows[0][column_of(*table, "total_share")], Value(1.0));
  EXPECT_EQ(table->rows[0][column_of(*table, "highest_share")], Value(1.0));
  EXPECT_EQ(table->rows[1][0], Value("memcpy"));
}

TEST_F(SharedTest, AcrossOtherThanJobs) {
  const auto table = ask(fleet_, {{"across", "machine"}, {"margins", "no"}});
  EXPECT_EQ(std::get<std::string>(table->rows[0][column_of(*table, "highest_share_in")]), "m2");
  EXPECT_THAT(ask(fleet_, {{"across", "app"}})->notes,
              ElementsAre("all samples are of one app: no shared code"));
}

TEST_F(SharedTest, AFewSamplesMakeNothingImportant) {
  fleet_.add({.seed = 4, .machine = "m4", .job = "cron", .stacks = "main;memcpy 1\nmain;wait 4\n"});
  const auto table = ask(fleet_, {{"margins", "no"}});
  EXPECT_EQ(table->rows[0][0], Value("memcpy")) << "a fifth of 5 samples is not surely over 5 %";
  EXPECT_EQ(std::get<std::string>(table->rows[0][column_of(*table, "highest_share_in")]), "mail");
}

TEST_F(SharedTest, NothingSaysWhy) {
  const auto table = ask(fleet_, {{"where", "job=serch"}});
  EXPECT_THAT(table->rows, IsEmpty());
  EXPECT_THAT(table->notes.at(0), HasSubstr("search"));
}

TEST_F(SharedTest, RefusesWhatIsNotCodeOrDoesNotRunIt) {
  EXPECT_THAT(ask(fleet_, {{"by", "function,job"}}).error().text(),
              HasSubstr("job is not an attribute of code"));
  EXPECT_THAT(ask(fleet_, {{"across", "binary"}}).error().text(), HasSubstr("binary does not run code"));
  EXPECT_THAT(ask(fleet_, {{"across", "stack"}}).error().text(), HasSubstr("stack does not run code"));
  EXPECT_THAT(ask(fleet_, {{"part", "both"}}).error().text(), HasSubstr("not self or total"));
  EXPECT_THAT(ask(fleet_, {{"max_shar", "1%"}}).error().text(), HasSubstr("max_share"));
}

TEST(RandomShared, IsWhatTheRawProfilesSay) {
  model::Random random(20261122);
  size_t compared = 0;
  for (int round = 0; round < 8; ++round) {
    Fleet fleet;
    std::vector<wire::RawProfile> profiles;
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      profiles.push_back(model::random_profile(random, seed));
      fleet.add(profiles.back());
    }
    const model::ObservedTimes observed = model::observed_times(profiles);
    std::vector<model::Sample> samples;
    for (const wire::RawProfile& profile : profiles) {
      model::add_samples(profile, observed, samples);
    }
    for (int i = 0; i < 30; ++i) {
      model::SharedQuestion asked{
          .question = model::random_question(random, samples),
          .across = model::one_of(random, {"job", "app", "thread", "machine", "draw"}),
          .is_total = model::below(random, 2) == 0,
          .below = static_cast<double>(1 + model::below(random, 100)) / 100};
      asked.question.by = {model::one_of(random, {"function", "file", "binary", "line"})};
      const model::ExpectedShared expected = model::expected_shared(asked, samples);
      const auto table = ask(fleet, asked.parameters());
      ASSERT_TRUE(table) << table.error().text();
      compared += model::expect_shared(*table, asked, expected);
    }
  }
  EXPECT_GT(compared, 200U);
}

}  // namespace
}  // namespace plimsoll::query::shared_test
