#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/wsmeter/evaluation/evaluation_table.h"
#include "tests/unit/query/wsmeter/observed_fleet.h"

namespace plimsoll::query::evaluation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kJobs = "job,quota\na,30\nb,10\nc,10\n";
// Means 200 and 5.
constexpr std::string_view kFleet =
    "platform,job,instance,performance\n"
    "old,a,0,100\nold,a,1,300\nold,b,0,4\nold,b,1,6\nold,c,0,1\n";

std::string test_table(std::string_view rows) {
  return "platform,job,instance,performance\n" + std::string(rows);
}
// Ratios 1.1 and 2.
const std::string kTest = test_table("new,a,0,219\nnew,a,1,221\nnew,b,0,10\nnew,b,1,10\n");

Result<Table> evaluated(std::string_view test, const EvaluationRequest& request) {
  const auto observed = read_performance(test);
  return observed ? evaluation_table(observed_fleet(kFleet, kJobs), &*observed, request)
                  : propagate(observed);
}

TEST(Evaluation, ByHand) {
  const auto table = evaluated(kTest, {.current = "old", .other = "new"});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 4);
  // 0.75 x 1.1 + 0.25 x 2. Only a varies: s^2 = 2, over 200^2: 5e-5; sqrt(0.75^2 x 5e-5 / 2) = 0.00375; t of 1 degree 12.706.
  EXPECT_NEAR(std::get<double>(table->rows[0][2]), 1.325, 1e-12);
  EXPECT_NEAR(std::get<double>(table->rows[0][3]), 0.00375 * 12.7062, 1e-6);
  EXPECT_EQ(std::get<std::string>(table->rows[0][6]), "better");
  EXPECT_NEAR(std::get<double>(table->rows[1][3]), 0.005 * 12.7062, 1e-6);
  EXPECT_EQ(std::get<double>(table->rows[2][3]), 0);
  EXPECT_EQ(std::get<std::string>(table->rows[3][7]), "no new observations");
  EXPECT_THAT(table->notes, ElementsAre(HasSubstr("better: the metric changes by +32.5 % +-4.76 %"),
                                        "2 jobs, 80 % of the quota; 1 left out",
                                        "the current platform is treated as fully observed (no sampling "
                                        "error); give --current-sample if it is a sample"));
}

TEST(Evaluation, OfASampledFleetIsLessSure) {
  const auto table =
      evaluated(kTest, {.current = "old", .other = "new", .method = {.is_current_sample = true}});
  ASSERT_TRUE(table);
  EXPECT_THAT(table->notes[0], HasSubstr("cannot tell"));
  EXPECT_THAT(table->notes[2], HasSubstr("is treated as a sample"));
}

TEST(Evaluation, OfAllInstancesThereAreIsExact) {
  const auto table =
      evaluated(kTest, {.current = "old", .other = "new", .method = {.is_finite_population = true}});
  ASSERT_TRUE(table);
  EXPECT_EQ(std::get<double>(table->rows[0][3]), 0);
}

TEST(Evaluation, SaysHowManyToObserveWhereTheMarginIsTooWide) {
  const auto table = evaluated(kTest, {.current = "old", .other = "new", .method = {}, .margin = 0.01});
  ASSERT_TRUE(table);
  // a: 0.75 x 0.00707 = 0.0053 of deviation; t of 3 degrees x 0.0053 / 2 = 0.0084.
  EXPECT_EQ(std::get<int64_t>(table->rows[1][5]), 4);
  EXPECT_EQ(std::get<int64_t>(table->rows[2][5]), 4);
  EXPECT_THAT(table->notes, ::testing::Contains(HasSubstr("4 more instances")));
  const auto sampled = evaluated(
      kTest, {.current = "old", .other = "new", .method = {.is_current_sample = true}, .margin = 0.01});
  ASSERT_TRUE(sampled);
  EXPECT_THAT(
      sampled->notes,
      ::testing::Contains(HasSubstr("a margin of 1 % cannot be reached: the sample of the current fleet")));
}

TEST(Evaluation, SaysWorseAndCannotTell) {
  const EvaluationRequest request{.current = "old", .other = "new"};
  EXPECT_THAT(evaluated(test_table("new,a,0,100\nnew,a,1,100\n"), request)->notes[0], HasSubstr("worse: "));
  EXPECT_THAT(evaluated(test_table("new,a,0,200\nnew,a,1,210\n"), request)->notes[0],
              HasSubstr("cannot tell: "));
}

TEST(Evaluation, ThatMakesNoSenseSaysWhy) {
  const auto why = [](std::string_view test, const EvaluationRequest& request) {
    return evaluated(test, request).error().text();
  };
  EXPECT_THAT(why(kTest, {.current = "older", .other = "new"}),
              HasSubstr("no observations of the platform older"));
  EXPECT_THAT(why(test_table(""), {.current = "old", .other = "new"}),
              HasSubstr("the table of test observations: no observations of new or any"));
  EXPECT_THAT(why(test_table("new,d,0,1\n"), {.current = "old", .other = "new"}),
              HasSubstr("no comparable job; a: no new observations"));
  EXPECT_THAT(why(kTest, {.current = "old", .other = "new", .method = {}, .margin = -1}),
              HasSubstr("the margin is -1"));
}

}  // namespace
}  // namespace plimsoll::query::evaluation_test
