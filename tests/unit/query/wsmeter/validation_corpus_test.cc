// The paper's validation on measurements of real machines: 55 jobs on two generations of virtual machines.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "query/wsmeter/validation/validation.h"
#include "tests/unit/query/wsmeter/observed_fleet.h"

namespace plimsoll::query {
namespace {

// The paper has 2,000; chance alone moves a share of 5 % by a tenth of itself there.
constexpr int64_t kTrials = 20'000;

class ValidationCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
    if (corpus == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
    const std::string folder = std::string(corpus) + "/vm_noise/";
    fleet_ = observed_fleet(read_file(folder + "performance.csv.gz", 1 << 24).value_or(""),
                            read_file(folder + "jobs.csv", 1 << 20).value_or(""));
  }

  struct Row {
    double interval_coverage;
    double power;
    double margin;
    double cost;
  };
  Row row(const ValidationRequest& request, size_t place = 0) const {
    const auto table = validation_table(fleet_, request);
    EXPECT_TRUE(table) << table.error().text();
    if (!table) {
      return {};
    }
    const auto number = [&](std::string_view name) {
      return std::get<double>(table->rows.at(place)[column_of(*table, name)]);
    };
    EXPECT_DOUBLE_EQ(number("coverage"), 1);
    return {number("interval_coverage"), number("power"), number("margin"), number("cost")};
  }

  static ValidationRequest new_generation(double margin) {
    return {.current = "B8ms",
            .other = "D8s_v5",
            .goal = {.effect = margin, .is_finite_population = true},
            .trials = kTrials};
  }
  static ValidationRequest same_generation(double scale, double share) {
    return {.current = "B8ms",
            .other = "B8ms",
            .goal = {.effect = 0.01, .power = 0.95, .is_finite_population = true},
            .trials = kTrials,
            .scale = scale,
            .share = share};
  }

  ObservedFleet fleet_;
};

TEST_F(ValidationCorpus, IntervalsHoldTheTruth) {
  for (const double margin : {0.01, 0.02, 0.03, 0.05}) {
    const Row result = row(new_generation(margin));
    EXPECT_GE(result.interval_coverage, 0.94) << margin;
    EXPECT_LE(result.interval_coverage, 0.975) << margin;
    EXPECT_EQ(result.power, 1) << margin;
  }
}

TEST_F(ValidationCorpus, AnEffectOfOnePercentIsFound) {
  EXPECT_GE(row(same_generation(1.05, 0.2)).power, 0.94);
  EXPECT_GE(row(same_generation(1.01, 1)).power, 0.94);
}

TEST_F(ValidationCorpus, WhatIsNotThereIsSeldomFound) {
  EXPECT_LE(row(same_generation(1, 1)).power, 0.055);
}

TEST_F(ValidationCorpus, WholeMachinesCostMoreForTheSameMargin) {
  ValidationRequest request = new_generation(0.02);
  request.model = ClusterModel::kBoth;
  const Row jobs = row(request, 0);
  const Row machines = row(request, 1);
  EXPECT_NEAR(machines.margin / jobs.margin, 1, 0.1);
  EXPECT_GT(machines.cost, jobs.cost);
  EXPECT_GE(machines.interval_coverage, 0.93);
}

}  // namespace
}  // namespace plimsoll::query
