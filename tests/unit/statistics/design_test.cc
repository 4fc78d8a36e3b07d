#include "statistics/design.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace plimsoll::statistics {
namespace {

// A machine of a population of which every possible draw is made.
struct Unit {
  uint32_t stratum = 0;
  double value = 0;
  double probability = 1;
};

// What all possible draws come to: each with the chance that it has.
struct AllDraws {
  double mean = 0;
  double variance = 0;
  double mean_of_estimated_variance = 0;
};

std::vector<Unit> units_of(uint32_t draw, const std::vector<Unit>& population) {
  std::vector<Unit> units;
  for (size_t i = 0; i < population.size(); ++i) {
    if ((draw >> i & 1U) != 0) {
      units.push_back(population[i]);
    }
  }
  return units;
}

// Of draws with the chances that `chance_of` gives them (0: not possible).
template <typename Chance>
AllDraws make_all_draws(const std::vector<Unit>& population, Selection selection, const Chance& chance_of) {
  AllDraws all;
  double mean_of_squares = 0;
  double chances = 0;
  for (uint32_t draw = 0; draw < 1U << population.size(); ++draw) {
    const std::vector<Unit> units = units_of(draw, population);
    const double chance = chance_of(draw, units);
    if (chance == 0) {
      continue;
    }
    std::vector<SampledMachine> machines;
    std::vector<double> values;
    for (const Unit& unit : units) {
      machines.push_back({unit.stratum, unit.probability});
      values.push_back(unit.value / unit.probability);
    }
    const double total = std::accumulate(values.begin(), values.end(), 0.0);
    chances += chance;
    all.mean += chance * total;
    mean_of_squares += chance * total * total;
    all.mean_of_estimated_variance += chance * Design(machines, selection).spread(values).variance;
  }
  all.mean /= chances;
  all.variance = mean_of_squares / chances - all.mean * all.mean;
  all.mean_of_estimated_variance /= chances;
  return all;
}

// All draws of so many from each stratum are equally likely.
auto so_many_of_each(const std::vector<size_t>& wanted) {
  return [wanted](uint32_t, const std::vector<Unit>& units) -> double {
    std::vector<size_t> counts(wanted.size());
    for (const Unit& unit : units) {
      ++counts[unit.stratum];
    }
    return counts == wanted ? 1 : 0;
  };
}

TEST(Design, EstimatesTheVarianceOfAllStratifiedDrawsWithoutBias) {
  // 2 of 4, and 3 of 5.
  const std::vector<Unit> population{{0, 1, 0.5}, {0, 4, 0.5},  {0, 9, 0.5},  {0, 2, 0.5}, {1, 50, 0.6},
                                     {1, 0, 0.6}, {1, 70, 0.6}, {1, 31, 0.6}, {1, 8, 0.6}};
  const AllDraws all = make_all_draws(population, Selection::kFixedSize, so_many_of_each({2, 3}));
  EXPECT_NEAR(all.mean, 175, 1e-9);
  EXPECT_GT(all.variance, 100);
  EXPECT_NEAR(all.mean_of_estimated_variance, all.variance, 1e-9 * all.variance);
}

TEST(Design, EstimatesTheVarianceOfAllPoissonDrawsWithoutBias) {
  const std::vector<Unit> population{{0, 3, 0.2}, {0, 40, 0.9}, {0, 5, 0.5},
                                     {0, 9, 0.5}, {0, 1, 0.1},  {0, 70, 1}};
  const auto chance = [&](uint32_t draw, const std::vector<Unit>&) {
    double product = 1;
    for (size_t i = 0; i < population.size(); ++i) {
      product *= (draw >> i & 1U) != 0 ? population[i].probability : 1 - population[i].probability;
    }
    return product;
  };
  const AllDraws all = make_all_draws(population, Selection::kIndependent, chance);
  EXPECT_NEAR(all.mean, 128, 1e-9);
  EXPECT_NEAR(all.mean_of_estimated_variance, all.variance, 1e-9 * all.variance);
}

TEST(Design, CollapsedStrataErrOnTheWideSide) {
  // One of three from each of two strata that differ.
  const double third = 1.0 / 3;
  const std::vector<Unit> population{{0, 1, third}, {0, 5, third},  {0, 3, third},
                                     {1, 9, third}, {1, 14, third}, {1, 11, third}};
  const AllDraws all = make_all_draws(population, Selection::kFixedSize, so_many_of_each({1, 1}));
  EXPECT_NEAR(all.mean, 43, 1e-9);
  EXPECT_GT(all.mean_of_estimated_variance, all.variance);
}

TEST(Design, CollapsedStrataOfDifferentRatesAreComparedBeforeTheyAreWeighted) {
  // One of two, and one of six, of machines that are alike: neither is an outlier for its weight.
  const std::vector<SampledMachine> machines{{0, 1.0 / 2}, {1, 1.0 / 6}};
  EXPECT_NEAR(Design(machines).spread(std::vector<double>{2 * 10, 6 * 10}).variance, 0, 1e-12);
  EXPECT_GT(Design(machines).spread(std::vector<double>{2 * 10, 6 * 11}).variance, 1);
}

// Machines that differ alike in both strata, two rates: what is estimated is right on average.
TEST(Design, CollapsedStrataOfDifferentRatesHaveTheRightVarianceWhereTheyAreAlike) {
  std::vector<Unit> population;
  for (const double value : {1.0, 5.0}) {
    population.push_back({0, value, 1.0 / 2});
  }
  for (const double value : {1.0, 1.0, 1.0, 5.0, 5.0, 5.0}) {
    population.push_back({1, value, 1.0 / 6});
  }
  const AllDraws all = make_all_draws(population, Selection::kFixedSize, so_many_of_each({1, 1}));
  // (1 - p) w^2 x 4 of each, as if machines were drawn with replacement from values 1 and 5; a draw of one has w^2 x 4.
  EXPECT_NEAR(all.variance, (4 + 36) * 4, 1e-9);
  EXPECT_NEAR(all.mean_of_estimated_variance, (4 * 0.5 + 36 * 5.0 / 6) * 4, 1e-9);
}

TEST(Design, OfAllMachinesHasNoVarianceBetweenThem) {
  const std::vector<SampledMachine> machines(5, {0, 1.0});
  const Design design(machines);
  EXPECT_TRUE(design.is_census());
  EXPECT_EQ(design.spread(std::vector<double>{1, 9, 4, 30, 2}).variance, 0);
}

TEST(Design, UnknownProbabilitiesCountAsOfAnEndlessFleet) {
  const std::vector<double> values{1, 9, 4, 30, 2};
  const Design unknown(std::vector<SampledMachine>(5));
  const Design half(std::vector<SampledMachine>(5, {0, 0.5}));
  EXPECT_FALSE(unknown.is_census());
  // n s^2, by hand: mean 9.2, squares 578.8.
  EXPECT_NEAR(unknown.spread(values).variance, 5 * 578.8 / 4, 1e-9);
  EXPECT_NEAR(half.spread(values).variance, unknown.spread(values).variance / 2, 1e-9);
}

TEST(Design, DegreesAreMachinesLessStrata) {
  std::vector<SampledMachine> machines;
  std::vector<double> values;
  for (uint32_t i = 0; i < 40; ++i) {
    machines.push_back({i % 2, 0.1});
    values.push_back(i % 4 < 2 ? 1 : -1);  // as far out as each other
  }
  EXPECT_EQ(Design(machines).strata(), 2);
  EXPECT_NEAR(Design(machines).spread(values).degrees, 38, 4);
  EXPECT_LE(Design(machines).spread(values).degrees, 38);
}

TEST(Design, DegreesAreFewWhereAFewMachinesStandOut) {
  const std::vector<SampledMachine> machines(100, {0, 0.1});
  std::vector<double> values(100);
  values[3] = 10;
  values[50] = 12;
  values[51] = 9;
  const double degrees = Design(machines).spread(values).degrees;
  EXPECT_GT(degrees, 3);
  EXPECT_LT(degrees, 8);
}

TEST(Design, NobodyIsNoDesign) {
  const Design design(std::vector<SampledMachine>{});
  EXPECT_EQ(design.machines(), 0);
  EXPECT_EQ(design.strata(), 0);
  EXPECT_EQ(design.spread({}).variance, 0);
}

}  // namespace
}  // namespace plimsoll::statistics
