#include "scheduler/draws/draw_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "scheduler/draws/random.h"

namespace plimsoll::scheduler::draw_plan_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr size_t kDraws = 10'000;

// Strata of these sizes, one machine after the other; no jobs.
Population of_strata(const std::vector<size_t>& sizes) {
  Population population;
  for (uint32_t stratum = 0; stratum < sizes.size(); ++stratum) {
    population.strata.push_back(fmt::format("s{}", stratum));
    population.stratum_of.insert(population.stratum_of.end(), sizes[stratum], stratum);
  }
  return population;
}

// Machines by their jobs, all of one stratum: {{0}, {0, 1}, {}}.
Population of_jobs(size_t jobs, const std::vector<std::vector<uint32_t>>& jobs_of) {
  Population population = of_strata({jobs_of.size()});
  population.jobs = jobs;
  population.first_job.push_back(0);
  for (const std::vector<uint32_t>& of_machine : jobs_of) {
    population.job_of.insert(population.job_of.end(), of_machine.begin(), of_machine.end());
    population.first_job.push_back(population.job_of.size());
  }
  return population;
}

std::vector<size_t> drawn_of_strata(const DrawPlan& plan, const Population& population, uint64_t seed) {
  std::vector<size_t> drawn(population.strata.size());
  for (const DrawnMachine& machine : plan.draw(seed)) {
    ++drawn[population.stratum_of[machine.machine]];
  }
  return drawn;
}

std::vector<size_t> times_drawn(const DrawPlan& plan, uint64_t first_seed) {
  std::vector<size_t> times(plan.probabilities().size());
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    for (const DrawnMachine& machine : plan.draw(first_seed + draw)) {
      ++times[machine.machine];
    }
  }
  return times;
}

double expected_of_job(const Population& population, const DrawPlan& plan, uint32_t job) {
  double expected = 0;
  for (size_t machine = 0; machine < population.machines(); ++machine) {
    for (const uint32_t runs : population.jobs_of(machine)) {
      expected += runs == job ? plan.probabilities()[machine] : 0;
    }
  }
  return expected;
}

TEST(DrawPlan, TakesTheFractionOfEachStratumAndItsMinimum) {
  const Population population = of_strata({1000, 50, 3, 1});
  const auto plan = DrawPlan::make(population, {.fraction = 0.01, .min_per_stratum = 2});
  ASSERT_TRUE(plan);
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    ASSERT_THAT(drawn_of_strata(*plan, population, seed), ElementsAre(10, 2, 2, 1)) << "seed " << seed;
  }
  EXPECT_DOUBLE_EQ(plan->probabilities()[0], 0.01);
  EXPECT_DOUBLE_EQ(plan->probabilities()[1000], 0.04);
  EXPECT_DOUBLE_EQ(plan->probabilities()[1050], 2.0 / 3);
  EXPECT_DOUBLE_EQ(plan->probabilities()[1053], 1);
  EXPECT_NEAR(plan->expected(), 15, 1e-9);
}

TEST(DrawPlan, APartOfAMachineIsDrawnAsOften) {
  const Population population = of_strata({150});
  const auto plan = DrawPlan::make(population, {.fraction = 0.01, .min_per_stratum = 1});
  ASSERT_TRUE(plan);
  size_t drawn = 0;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    const size_t of_draw = plan->draw(seed).size();
    ASSERT_THAT(of_draw, AllOf(Ge(1), Le(2)));
    drawn += of_draw;
  }
  EXPECT_NEAR(static_cast<double>(drawn) / kDraws, 1.5, 5 * 0.5 / std::sqrt(kDraws));
}

TEST(DrawPlan, ANumberOfMachinesIsSharedOutByTheSizesOfTheStrata) {
  const Population population = of_strata({600, 300, 4});
  const auto plan = DrawPlan::make(population, {.machines = 92, .min_per_stratum = 2});
  ASSERT_TRUE(plan);
  EXPECT_NEAR(plan->strata()[0].expected, 60, 1e-6);
  EXPECT_NEAR(plan->strata()[1].expected, 30, 1e-6);
  EXPECT_NEAR(plan->strata()[2].expected, 2, 1e-6);
  const auto few = DrawPlan::make(population, {.machines = 3, .min_per_stratum = 2});
  EXPECT_NEAR(few->expected(), 6, 1e-9) << "minima win";
  const auto all = DrawPlan::make(population, {.machines = 5000});
  EXPECT_NEAR(all->expected(), 904, 1e-6);
}

// The sum of squared deviations over N (1 - n/N) n/N, which has N - 1 degrees of freedom.
TEST(DrawPlan, MachinesOfAStratumAreDrawnEquallyOften) {
  constexpr size_t kMachines = 40;
  const auto plan = DrawPlan::make(of_strata({kMachines}), {.fraction = 0.175, .min_per_stratum = 1});
  ASSERT_TRUE(plan);
  constexpr double kShare = 0.175;
  double chi_square = 0;
  for (const size_t times : times_drawn(*plan, 1)) {
    const double deviation = static_cast<double>(times) - kShare * kDraws;
    chi_square += deviation * deviation / (kDraws * kShare * (1 - kShare));
  }
  chi_square *= (kMachines - 1.0) / kMachines;
  EXPECT_LT(chi_square, 72.05) << "the 99.9th percentile with 39 degrees of freedom";
  EXPECT_GT(chi_square, 16.27) << "too even: the 0.1st percentile";
}

TEST(DrawPlan, AndSoAreTheirPairs) {
  constexpr size_t kMachines = 40;
  const auto plan = DrawPlan::make(of_strata({kMachines}), {.fraction = 0.175, .min_per_stratum = 1});
  std::map<std::pair<uint32_t, uint32_t>, size_t> times;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    const auto drawn = plan->draw(seed);
    for (size_t i = 0; i < drawn.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        ++times[{drawn[j].machine, drawn[i].machine}];
      }
    }
  }
  constexpr double kShare = 7.0 * 6 / (40 * 39);
  const double deviation = std::sqrt(kDraws * kShare * (1 - kShare));
  EXPECT_EQ(times.size(), kMachines * (kMachines - 1) / 2);
  for (const auto& [pair, together] : times) {
    EXPECT_NEAR(static_cast<double>(together), kDraws * kShare, 5 * deviation)
        << pair.first << " and " << pair.second;
  }
}

// Every pair of five machines is as likely as any other: then it is simple random sampling.
TEST(DrawPlan, EverySampleOfAStratumIsAsLikely) {
  const auto plan = DrawPlan::make(of_strata({5}), {.fraction = 0.4, .min_per_stratum = 1});
  std::map<std::vector<uint32_t>, size_t> times;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    std::vector<uint32_t> sample;
    for (const DrawnMachine& machine : plan->draw(seed)) {
      sample.push_back(machine.machine);
    }
    ++times[sample];
  }
  ASSERT_EQ(times.size(), 10);
  double chi_square = 0;
  for (const auto& [sample, count] : times) {
    const double deviation = static_cast<double>(count) - kDraws / 10.0;
    chi_square += deviation * deviation / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.88) << "the 99.9th percentile with 9 degrees of freedom";
}

TEST(DrawPlan, RareJobsAreExpectedOnTheirMinimumOfMachines) {
  // Job 0 is everywhere, job 1 on ten of a hundred machines, job 2 on two of those, job 3 on one.
  std::vector<std::vector<uint32_t>> jobs_of(100, {0});
  for (size_t machine = 0; machine < 10; ++machine) {
    jobs_of[machine].push_back(1);
  }
  jobs_of[0].push_back(2);
  jobs_of[1].push_back(2);
  jobs_of[50].push_back(3);
  const Population population = of_jobs(4, jobs_of);
  const auto plan = DrawPlan::make(population, {.fraction = 0.05, .min_per_stratum = 1, .min_per_job = 3});
  ASSERT_TRUE(plan);
  EXPECT_GE(expected_of_job(population, *plan, 0), 5);
  EXPECT_GE(expected_of_job(population, *plan, 1), 3);
  EXPECT_EQ(expected_of_job(population, *plan, 2), 2) << "there are no more";
  EXPECT_EQ(expected_of_job(population, *plan, 3), 1);
  EXPECT_DOUBLE_EQ(plan->probabilities()[20], 0.05) << "others are as before";
  EXPECT_DOUBLE_EQ(plan->probabilities()[5], 0.3);
}

TEST(DrawPlan, MachinesAreDrawnAsOftenAsTheirProbabilitiesSay) {
  std::mt19937_64 random(11);
  std::vector<std::vector<uint32_t>> jobs_of(120);
  for (auto& of_machine : jobs_of) {
    for (uint32_t job = 0; job < 12; ++job) {
      if (random() % (2U << job) == 0) {
        of_machine.push_back(job);
      }
    }
  }
  const Population population = of_jobs(12, jobs_of);
  const auto plan = DrawPlan::make(population, {.fraction = 0.07, .min_per_stratum = 1, .min_per_job = 4});
  ASSERT_TRUE(plan);
  const std::vector<size_t> times = times_drawn(*plan, 77);
  double squares = 0;
  size_t uncertain = 0;
  for (size_t machine = 0; machine < times.size(); ++machine) {
    const double probability = plan->probabilities()[machine];
    ASSERT_GT(probability, 0);
    ASSERT_LE(probability, 1);
    if (probability == 1) {
      EXPECT_EQ(times[machine], kDraws);
      continue;
    }
    const double z = (static_cast<double>(times[machine]) - kDraws * probability) /
                     std::sqrt(kDraws * probability * (1 - probability));
    EXPECT_LT(std::abs(z), 5) << "machine " << machine << " of probability " << probability;
    squares += z * z;
    ++uncertain;
  }
  ASSERT_GT(uncertain, 80);
  EXPECT_NEAR(squares / static_cast<double>(uncertain), 1,
              5 * std::sqrt(2.0 / static_cast<double>(uncertain)));
}

// Random fleets: every stratum has its expected number, rounded up or down, each machine once.
TEST(DrawPlan, HoldsItsSizesInAnyFleet) {
  std::mt19937_64 random(5);
  for (uint64_t round = 0; round < 200; ++round) {
    std::vector<size_t> sizes(1 + random() % 8);
    for (size_t& size : sizes) {
      size = 1 + random() % (random() % 2 == 0 ? 5 : 200);
    }
    Population population = of_strata(sizes);
    population.jobs = 1 + random() % 6;
    population.first_job.push_back(0);
    for (size_t machine = 0; machine < population.machines(); ++machine) {
      for (uint32_t job = 0; job < population.jobs; ++job) {
        if (random() % (3 + 20 * job) == 0) {
          population.job_of.push_back(job);
        }
      }
      population.first_job.push_back(population.job_of.size());
    }
    const DrawSize size{.fraction = static_cast<double>(1 + random() % 100) / 100,
                        .machines = random() % 3 == 0 ? 1 + random() % 300 : 0,
                        .min_per_stratum = 1 + random() % 4,
                        .min_per_job = static_cast<double>(random() % 5)};
    const auto plan = DrawPlan::make(population, size);
    ASSERT_TRUE(plan);
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const auto drawn = plan->draw(seed);
      for (size_t i = 1; i < drawn.size(); ++i) {
        ASSERT_LT(drawn[i - 1].machine, drawn[i].machine);
      }
      const std::vector<size_t> of_strata = drawn_of_strata(*plan, population, seed);
      for (size_t stratum = 0; stratum < sizes.size(); ++stratum) {
        const double expected = plan->strata()[stratum].expected;
        ASSERT_GE(of_strata[stratum], std::min(size.min_per_stratum, sizes[stratum]));
        ASSERT_NEAR(static_cast<double>(of_strata[stratum]), expected, 1 - 1e-6)
            << "round " << round << ", stratum " << stratum;
      }
    }
  }
}

TEST(DrawPlan, ASeedGivesTheSameDrawEverywhere) {
  const auto plan = DrawPlan::make(of_strata({1000}), {.fraction = 0.008});
  std::vector<uint32_t> machines;
  for (const DrawnMachine& machine : plan->draw(42)) {
    machines.push_back(machine.machine);
  }
  EXPECT_THAT(machines, ElementsAre(474, 507, 528, 543, 571, 759, 909, 970));
  EXPECT_EQ(plan->draw(42), plan->draw(42));
  EXPECT_NE(plan->draw(42), plan->draw(43));
}

TEST(DrawPlan, SizesOutOfTheirBoundsAreRefused) {
  const Population population = of_strata({10});
  for (const auto& [size, field] : {std::pair(DrawSize{.fraction = 0}, "fraction"),
                                    {DrawSize{.fraction = 1.5}, "fraction"},
                                    {DrawSize{.fraction = NAN}, "fraction"},
                                    {DrawSize{.min_per_stratum = 0}, "min_per_stratum"},
                                    {DrawSize{.min_per_job = -1}, "min_per_job"},
                                    {DrawSize{.min_per_job = INFINITY}, "min_per_job"}}) {
    const auto plan = DrawPlan::make(population, size);
    ASSERT_FALSE(plan) << field;
    EXPECT_EQ(plan.error().field, field);
  }
  EXPECT_TRUE(DrawPlan::make(population, {.fraction = 0, .machines = 3}));
}

TEST(DrawPlan, OfNoMachinesIsEmpty) {
  const auto plan = DrawPlan::make(Population{}, {});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->draw(1).empty());
}

TEST(DrawRandom, NumbersBelowABoundAreEquallyLikely) {
  DrawRandom random(3);
  std::vector<size_t> times(7);
  for (size_t i = 0; i < 70'000; ++i) {
    ++times.at(random.below(7));
  }
  for (const size_t count : times) {
    EXPECT_NEAR(static_cast<double>(count), 10'000, 5 * std::sqrt(10'000));
  }
  EXPECT_EQ(random.below(1), 0);
}

TEST(DrawRandom, ThingsHappenAsOftenAsTheirProbabilitySays) {
  DrawRandom random(4);
  for (const double probability : {0.0, 0.3, 1.0}) {
    size_t times = 0;
    for (size_t i = 0; i < 10'000; ++i) {
      times += random.happens(probability) ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(times), 10'000 * probability,
                5 * std::sqrt(10'000 * probability * (1 - probability)));
  }
}

// Machines of two platforms, of which none is drawn again before four draws have passed.
TEST(DrawPlanRotation, RestsMachinesAndKeepsProbabilitiesTrue) {
  constexpr uint32_t kTurns = 4;
  constexpr size_t kMachines = 40;
  std::vector<wire::Machine> machines(kMachines);
  std::vector<Candidate> fleet;
  for (size_t i = 0; i < kMachines; ++i) {
    machines[i].set_id(fmt::format("m{}", i));
    machines[i].set_platform(i < 36 ? "a" : "b");
    fleet.push_back({.machine = &machines[i]});
  }
  std::vector<size_t> times(kMachines);
  std::vector<double> probabilities;
  for (uint64_t seed = 0; seed < kDraws / kTurns; ++seed) {
    const Population population =
        population_of(fleet, *Stratification::make({"platform"}), {.turns = kTurns, .seed = seed});
    const auto plan = DrawPlan::make(population, {.fraction = 0.1, .min_per_stratum = 3});
    ASSERT_TRUE(plan);
    probabilities = plan->probabilities();
    std::vector<size_t> within_round(kMachines);
    for (uint32_t turn = 0; turn < kTurns; ++turn) {
      for (const DrawnMachine& drawn : plan->draw(1000 * seed + turn, turn)) {
        ++within_round[drawn.machine];
        ++times[drawn.machine];
        ASSERT_EQ(drawn.inclusion_probability, probabilities[drawn.machine]);
      }
    }
    ASSERT_THAT(within_round, ::testing::Each(Le(1U)));
  }
  for (size_t i = 0; i < kMachines; ++i) {
    // A tenth of the common ones; of four rare ones three are wanted, and each can come in every fourth draw.
    const double expected = i < 36 ? 0.1 : 0.25;
    EXPECT_DOUBLE_EQ(probabilities[i], expected);
    const double deviation = std::sqrt(kDraws * expected * (1 - expected));
    EXPECT_NEAR(static_cast<double>(times[i]), kDraws * expected, 5 * deviation) << i;
  }
}

}  // namespace
}  // namespace plimsoll::scheduler::draw_plan_test
