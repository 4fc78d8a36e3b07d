#include "query/wsmeter/validation/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "query/wsmeter/validation/machine_clusters.h"
#include "query/wsmeter/validation/scaling.h"
#include "tests/unit/query/wsmeter/observed_fleet.h"

namespace plimsoll::query::validation_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Two jobs of 40 instances, whose performance is 100 +- 10 on A, and a tenth more on B.
std::string performance() {
  std::string text = "platform,job,instance,performance\n";
  for (const double scale : {1.0, 1.1}) {
    for (const char* job : {"a", "b"}) {
      for (int i = 0; i < 40; ++i) {
        const double value = scale * (90 + 20 * ((i * 7) % 40) / 39.0);
        text += fmt::format("{},{},{},{}\n", scale == 1 ? "A" : "B", job, i, value);
      }
    }
  }
  return text;
}
constexpr std::string_view kJobs = "job,quota\na,60\nb,20\n";

ValidationRequest request(double margin) {
  return {
      .current = "A", .other = "B", .goal = {.effect = margin, .is_finite_population = true}, .trials = 400};
}

TEST(Validation, HasARowForEachModel) {
  ValidationRequest both = request(0.05);
  both.model = ClusterModel::kBoth;
  const auto table = validation_table(observed_fleet(performance(), kJobs), both);
  ASSERT_TRUE(table) << table.error().text();
  const std::string csv = to_csv(*table);
  EXPECT_THAT(csv, HasSubstr("model,trials,interval_coverage,power,margin,coverage,cost"));
  ASSERT_EQ(table->rows.size(), 2);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "job");
  EXPECT_EQ(std::get<std::string>(table->rows[1][0]), "machine");
  EXPECT_NEAR(std::get<double>(table->rows[0][2]), 0.95, 0.04);
  EXPECT_EQ(std::get<double>(table->rows[0][5]), 1);
  EXPECT_THAT(table->notes, Contains(HasSubstr("the new platform's metric is 1.1, the current one's 1")));
}

TEST(Validation, OfASeedIsTheSameEveryTime) {
  const auto once = validation_table(observed_fleet(performance(), kJobs), request(0.05));
  const auto again = validation_table(observed_fleet(performance(), kJobs), request(0.05));
  ASSERT_TRUE(once && again);
  EXPECT_EQ(to_csv(*once), to_csv(*again));
}

TEST(Validation, OfAllInstancesIsSure) {
  const auto table = validation_table(observed_fleet(performance(), kJobs), request(1e-9));
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(std::get<double>(table->rows[0][2]), 1);
  EXPECT_EQ(std::get<double>(table->rows[0][3]), 1);
  EXPECT_EQ(std::get<double>(table->rows[0][4]), 0);
  EXPECT_NEAR(std::get<double>(table->rows[0][6]), 80, 1e-9) << "the whole quota";
}

TEST(Validation, WithoutVarianceHasNoMargin) {
  const std::string flat = "platform,job,instance,performance\nA,a,0,1\nA,a,1,1\nB,a,0,1\nB,a,1,1\n";
  const auto table = validation_table(observed_fleet(flat, "job,quota\na,1\n"), request(0.01));
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(std::get<double>(table->rows[0][2]), 1);
  EXPECT_EQ(std::get<double>(table->rows[0][3]), 0);
  EXPECT_EQ(std::get<double>(table->rows[0][4]), 0);
}

TEST(Validation, ThatMakesNoSenseSaysWhy) {
  const auto why = [](ValidationRequest wrong, std::string_view jobs = kJobs) {
    return validation_table(observed_fleet(performance(), jobs), wrong).error().text();
  };
  ValidationRequest wrong = request(0);
  EXPECT_THAT(why(wrong), HasSubstr("the effect or margin is 0"));
  wrong = request(0.01);
  wrong.trials = 0;
  EXPECT_THAT(why(wrong), HasSubstr("the number of trials"));
  wrong = request(0.01);
  wrong.scale = std::nan("");
  EXPECT_THAT(why(wrong), HasSubstr("the scale is nan"));
  wrong.scale = 1.1;
  wrong.share = 2;
  EXPECT_THAT(why(wrong), HasSubstr("the share of the quota is 2"));
  wrong = request(0.01);
  wrong.other = "C";
  EXPECT_THAT(why(wrong), HasSubstr("platforms with observations: A, B"));
  EXPECT_THAT(why(request(0.01), "job,quota\nz,1\n"), HasSubstr("no comparable job; z"));
}

std::vector<ComparedJob> jobs_of(size_t jobs, size_t instances) {
  std::vector<ComparedJob> made(jobs);
  for (size_t i = 0; i < jobs; ++i) {
    made[i].job = {.job = fmt::format("{}", i), .quota = 1.0 + static_cast<double>(i)};
    made[i].weight = made[i].job.quota * 2 / static_cast<double>(jobs * (jobs + 1));
    made[i].other.assign(instances, 1);
  }
  return made;
}

TEST(Scaling, ChangesTheMetricByItsShareExactly) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    std::vector<ComparedJob> jobs = jobs_of(12, 3);
    Random random(seed);
    EXPECT_NEAR(scale_share(jobs, 1.05, 0.2, random), 0.01, 1e-12);
  }
  std::vector<ComparedJob> jobs = jobs_of(12, 3);
  Random random(1);
  EXPECT_NEAR(scale_share(jobs, 1.01, 1, random), 0.01, 1e-12);
  EXPECT_EQ(scale_share(jobs, 2, 0, random), 0);
}

TEST(Machines, HaveSixToTenInstancesAndEachInstanceIsOnOne) {
  Random random(1);
  const auto machines = pack_machines(jobs_of(20, 100), random);
  int64_t instances = 0;
  double quota = 0;
  size_t smaller = 0;
  for (const MachineSums& machine : machines) {
    instances += machine.instances;
    quota += machine.quota;
    smaller += machine.instances < 6;
    EXPECT_LE(machine.instances, 10);
  }
  EXPECT_EQ(instances, 2000);
  EXPECT_NEAR(quota, 210, 1e-9);
  EXPECT_LE(smaller, 20);
}

TEST(Machines, OfWhichTwoAreDrawnByHand) {
  // R = 5 / 4; residuals over 4: (2 - 1.25) / 4 = 0.1875, and minus that; over 1 - 1/4 and 1 - 3/4.
  const std::vector<MachineSums> sample{{.quota = 1, .performance = 2}, {.quota = 3, .performance = 3}};
  const MetricEstimate estimate = metric_of_machines(sample, 4);
  EXPECT_DOUBLE_EQ(estimate.value, 1.25);
  EXPECT_NEAR(estimate.deviation, std::sqrt(0.1875 * 0.1875 * (1 / 0.75 + 1 / 0.25) / 2), 1e-12);
  EXPECT_LE(estimate.degrees, 1);
}

TEST(Machines, AreAsFewAsTheMarginTakes) {
  std::vector<MachineSums> machines;
  for (int i = 0; i < 1000; ++i) {
    machines.push_back({.quota = 1, .performance = 1 + 0.1 * (i % 2 == 0 ? 1 : -1), .cost = 1});
  }
  const size_t count = machines_for(machines, 0.02);
  // (1.984 x 0.1 / 0.02)^2 = 98.4, with the correction of 1,000: 89.6.
  EXPECT_NEAR(static_cast<double>(count), 90, 1);
  EXPECT_LE(expected_of_machines(machines, count).margin, 0.02);
  EXPECT_GT(expected_of_machines(machines, count - 1).margin, 0.02);
}

}  // namespace
}  // namespace plimsoll::query::validation_test
