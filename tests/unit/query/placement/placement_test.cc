#include "query/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/stop_scope.h"
#include "query/placement/linear_program.h"
#include "tests/unit/query/placement/all_bases.h"

namespace plimsoll::query {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two jobs of the same load. On the new platform the first runs twice as fast, the second hardly faster.
PlacementProblem two_jobs() {
  return {.loads = {100, 100},
          .capacities = {1000, 120},
          .pairs = {{.job = 0, .platform = 0, .cost = 2.0},
                    {.job = 0, .platform = 1, .cost = 1.0},
                    {.job = 1, .platform = 0, .cost = 1.1},
                    {.job = 1, .platform = 1, .cost = 1.0}}};
}

Placement placed(const PlacementProblem& problem) {
  const auto outcome = place_jobs(problem);
  EXPECT_TRUE(outcome) << outcome.error().text();
  const auto* placement = outcome ? std::get_if<Placement>(&*outcome) : nullptr;
  EXPECT_NE(placement, nullptr) << "no placement fits";
  return placement == nullptr ? Placement() : *placement;
}

TEST(Placement, GivesAPlatformToTheJobThatGainsMostByIt) {
  // The new one has room for all of the first job and for a fifth of the second.
  const Placement placement = placed(two_jobs());
  EXPECT_THAT(placement.loads,
              ElementsAre(0, DoubleNear(100, 1e-7), DoubleNear(80, 1e-7), DoubleNear(20, 1e-7)));
  EXPECT_NEAR(placement.cost, 100 + 88 + 20, 1e-6);
  EXPECT_NEAR(placement.min_cost, placement.cost, 1e-6);
}

TEST(Placement, PricesAreWhatMoreCapacityWouldSave) {
  // One cycle more on the new platform takes an instruction of the second job, which costs 1.1 on the old.
  EXPECT_THAT(placed(two_jobs()).prices, ElementsAre(0, DoubleNear(0.1, 1e-7)));
  PlacementProblem more = two_jobs();
  more.capacities[1] += 1;
  EXPECT_NEAR(placed(two_jobs()).cost - placed(more).cost, 0.1, 1e-6);
}

TEST(Placement, WithRoomForAllPutsEachJobWhereItIsCheapest) {
  PlacementProblem roomy = two_jobs();
  roomy.capacities[1] = 500;
  const Placement placement = placed(roomy);
  EXPECT_THAT(placement.loads, ElementsAre(0, 100, 0, 100));
  EXPECT_THAT(placement.prices, ElementsAre(0, 0));
}

TEST(Placement, TinyJobsArePlacedWellBesideLargeOnes) {
  PlacementProblem problem = two_jobs();
  problem.loads = {1e12, 1e5};
  problem.capacities = {4e12, 4e12};
  EXPECT_THAT(placed(problem).loads, ElementsAre(0, 1e12, 0, 1e5));
}

TEST(Placement, ThatDoesNotFitSaysWhatIsMissing) {
  PlacementProblem tight = two_jobs();
  tight.capacities = {50, 60};
  const auto outcome = place_jobs(tight);
  ASSERT_TRUE(outcome) << outcome.error().text();
  const auto* shortage = std::get_if<Shortage>(&*outcome);
  ASSERT_NE(shortage, nullptr);
  // All on the new platform would need 200. Of the second job the old one takes 50 cycles, 45.5 instructions: 154.5 are left for 60.
  EXPECT_NEAR(shortage->missing, 200 - 50 / 1.1 - 60, 1e-6);
  EXPECT_THAT(shortage->weights, ElementsAre(DoubleNear(1 / 1.1, 1e-6), DoubleNear(1, 1e-6)));
}

TEST(Placement, NumbersThatMakeNoSenseAreNamed) {
  const auto why = [](const auto& change) {
    PlacementProblem problem = two_jobs();
    change(problem);
    const auto outcome = place_jobs(problem);
    return outcome ? std::string() : outcome.error().message;
  };
  for (const double wrong : {-1.0, 0.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(why([&](auto& problem) { problem.loads[1] = wrong; }), HasSubstr("the load of job 1"));
    EXPECT_THAT(why([&](auto& problem) { problem.capacities[0] = wrong; }),
                HasSubstr("the capacity of platform 0"));
    EXPECT_THAT(why([&](auto& problem) { problem.pairs[2].cost = wrong; }), HasSubstr("pair 2: the cost"));
  }
  EXPECT_THAT(why([](auto& problem) { problem.pairs[3].margin = -1; }), HasSubstr("pair 3: the margin"));
  EXPECT_THAT(why([](auto& problem) { problem.pairs[3].platform = 2; }), HasSubstr("or platform 2"));
  EXPECT_THAT(why([](auto& problem) { problem.pairs[1].platform = 0; }), HasSubstr("pair 1 is out of order"));
  EXPECT_THAT(why([](auto& problem) { problem.pairs.resize(2); }), HasSubstr("job 1 can run on no platform"));
  EXPECT_THAT(why([](auto& problem) { problem = {}; }), HasSubstr("no jobs"));
}

class RandomProblems {
 public:
  PlacementProblem next() {
    PlacementProblem problem;
    const size_t platforms = 1 + random_() % 3;
    problem.loads.resize(1 + random_() % 3);
    for (double& load : problem.loads) {
      load = std::exp(real(0, 5));
    }
    double needed = 0;
    for (uint32_t job = 0; job < problem.loads.size(); ++job) {
      needed += problem.loads[job] * add_pairs(job, platforms, problem);
    }
    for (size_t i = 0; i < platforms; ++i) {
      problem.capacities.push_back(needed / static_cast<double>(platforms) * real(0.3, 2.5));
    }
    return problem;
  }

 private:
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }

  // A fifth of the pairs are unknown. Returns the mean cost.
  double add_pairs(uint32_t job, size_t platforms, PlacementProblem& problem) {
    const size_t always = random_() % platforms;
    double sum = 0;
    size_t pairs = 0;
    for (uint32_t platform = 0; platform < platforms; ++platform) {
      if (platform == always || random_() % 5 != 0) {
        problem.pairs.push_back({.job = job, .platform = platform, .cost = real(0.3, 3)});
        sum += problem.pairs.back().cost;
        ++pairs;
      }
    }
    return sum / static_cast<double>(pairs);
  }

  std::mt19937_64 random_{20'261'124};
};

void expect_to_fit(const PlacementProblem& problem, const Placement& placement) {
  std::vector<double> placed_load(problem.loads.size());
  std::vector<double> used(problem.capacities.size());
  for (size_t i = 0; i < problem.pairs.size(); ++i) {
    EXPECT_GE(placement.loads[i], 0);
    placed_load[problem.pairs[i].job] += placement.loads[i];
    used[problem.pairs[i].platform] += placement.loads[i] * problem.pairs[i].cost;
  }
  for (size_t i = 0; i < placed_load.size(); ++i) {
    EXPECT_NEAR(placed_load[i], problem.loads[i], 1e-9 * problem.loads[i]);
  }
  for (size_t i = 0; i < used.size(); ++i) {
    EXPECT_LE(used[i], problem.capacities[i] * (1 + 1e-8));
  }
}

TEST(Placement, CostsTheLeastOfAllBasesOfRandomSmallFleets) {
  RandomProblems problems;
  int fitting = 0;
  for (int time = 0; time < 600; ++time) {
    SCOPED_TRACE(time);
    const PlacementProblem problem = problems.next();
    const auto outcome = place_jobs(problem);
    ASSERT_TRUE(outcome) << outcome.error().text();
    const std::optional<double> least = min_cost_by_bases(problem);
    const auto* placement = std::get_if<Placement>(&*outcome);
    ASSERT_EQ(placement != nullptr, least.has_value());
    if (placement != nullptr) {
      ++fitting;
      expect_to_fit(problem, *placement);
      EXPECT_NEAR(placement->cost, *least, 1e-8 * *least);
      EXPECT_NEAR(placement->min_cost, *least, 1e-8 * *least);
      EXPECT_LE(placement->min_cost, *least * (1 + 1e-12)) << "a bound that the truth is below";
    }
  }
  EXPECT_GT(fitting, 200);
  EXPECT_LT(fitting, 500);
}

TEST(Placement, ThatDoesNotFitMissesTheLeastOfAllBases) {
  RandomProblems problems;
  int short_of = 0;
  for (int time = 0; time < 200; ++time) {
    SCOPED_TRACE(time);
    const PlacementProblem problem = problems.next();
    const auto outcome = place_jobs(problem);
    ASSERT_TRUE(outcome) << outcome.error().text();
    if (const auto* shortage = std::get_if<Shortage>(&*outcome)) {
      ++short_of;
      EXPECT_NEAR(shortage->missing, missing_capacity_by_bases(problem), 1e-8 * problem.capacities[0]);
    }
  }
  EXPECT_GT(short_of, 30);
}

TEST(LinearProgram, OfWhichNothingIsAskedIsSolved) {
  LinearProgram program;
  program.add_row(2, 2);
  program.add_column(3, std::array{LinearProgram::Entry{0, 1}});
  const auto solution = solve(program);
  ASSERT_TRUE(solution && *solution);
  EXPECT_THAT((*solution)->values, ElementsAre(DoubleNear(2, 1e-9)));
  EXPECT_THAT((*solution)->prices, ElementsAre(DoubleNear(3, 1e-9)));
}

TEST(LinearProgram, EndsWhereItsClientHasGone) {
  PlacementProblem problem{
      .loads = std::vector<double>(500, 1.0), .capacities = std::vector<double>(8, 100), .pairs = {}};
  for (uint32_t job = 0; job < problem.loads.size(); ++job) {
    for (uint32_t platform = 0; platform < problem.capacities.size(); ++platform) {
      const uint32_t mixed = (job * 37 + platform * 101) % 97;
      problem.pairs.push_back({.job = job, .platform = platform, .cost = 1 + mixed / 97.0});
    }
  }
  ASSERT_TRUE(place_jobs(problem));
  int looks = 0;
  const StopCheck goes_soon = [&looks]() -> Status {
    return ++looks < 10 ? Status() : fail(ErrorCode::kUnavailable, "its client is gone");
  };
  const StopScope scope(goes_soon);
  const auto given_up = place_jobs(problem);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(given_up.error().message, HasSubstr("its client is gone"));
  EXPECT_LT(looks, 15) << "it goes on for long";
}

}  // namespace
}  // namespace plimsoll::query
