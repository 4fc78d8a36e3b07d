#include "statistics/jackknife.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace plimsoll::statistics {
namespace {

std::vector<double> by_cell(const Jackknife& jackknife, const std::vector<double>& values) {
  std::vector<double> sums(jackknife.cells());
  for (size_t i = 0; i < values.size(); ++i) {
    sums[jackknife.cell_of(i)] += values[i];
  }
  return sums;
}

std::vector<double> replicates(const Jackknife& jackknife, const std::vector<double>& values) {
  std::vector<double> totals(jackknife.groups());
  jackknife.replicate(by_cell(jackknife, values), totals);
  return totals;
}

Spread spread_of_total(const Jackknife& jackknife, const std::vector<double>& values) {
  return jackknife.spread(std::accumulate(values.begin(), values.end(), 0.0), replicates(jackknife, values));
}

// Machines of strata with so many each, and values that differ between and within them.
struct Fleet {
  std::vector<SampledMachine> machines;
  std::vector<double> values;

  explicit Fleet(const std::vector<size_t>& strata, double probability = 0.2) {
    std::mt19937_64 random(5);
    for (uint32_t stratum = 0; stratum < strata.size(); ++stratum) {
      std::gamma_distribution<double> value(2, 10 * (stratum + 1));
      for (size_t i = 0; i < strata[stratum]; ++i) {
        machines.push_back({stratum, probability});
        values.push_back(value(random));
      }
    }
  }
};

TEST(Jackknife, DealsEachStratumOutEvenly) {
  const Fleet fleet({640, 70, 3});
  const Jackknife jackknife(Design(fleet.machines), 1);
  std::vector<size_t> sizes(jackknife.cells());
  for (size_t i = 0; i < fleet.machines.size(); ++i) {
    ASSERT_EQ(jackknife.cell_of(i) / jackknife.groups(), fleet.machines[i].stratum);
    ++sizes[jackknife.cell_of(i)];
  }
  for (size_t cell = 0; cell < 64; ++cell) {
    EXPECT_EQ(sizes[cell], 10);
    EXPECT_THAT(sizes[64 + cell], ::testing::AnyOf(1, 2));
    EXPECT_LE(sizes[128 + cell], 1);
  }
}

TEST(Jackknife, OfATotalWithAGroupForEachMachineIsTheExactVariance) {
  for (const std::vector<size_t>& strata : {std::vector<size_t>{64}, {20, 30, 2}, {5}}) {
    const Fleet fleet(strata);
    const Design design(fleet.machines);
    const double exact = design.spread(fleet.values).variance;
    EXPECT_NEAR(spread_of_total(Jackknife(design, 1), fleet.values).variance, exact, 1e-9 * exact);
  }
}

TEST(Jackknife, OfATotalInGroupsIsRightOnAverage) {
  const Fleet fleet({900, 100, 7});
  const Design design(fleet.machines);
  double mean = 0;
  constexpr int kRuns = 300;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    mean += spread_of_total(Jackknife(design, seed), fleet.values).variance / kRuns;
  }
  // Each has 63 degrees of freedom: the mean of 300 scatters by 1 %.
  EXPECT_NEAR(mean / design.spread(fleet.values).variance, 1, 0.05);
}

TEST(Jackknife, OfAllMachinesHasNoVariance) {
  const Fleet fleet({200}, 1);
  EXPECT_NEAR(spread_of_total(Jackknife(Design(fleet.machines), 1), fleet.values).variance, 0, 1e-9);
}

TEST(Jackknife, DegreesAreOfGroupsOrOfFewerMachines) {
  const auto degrees = [](const std::vector<size_t>& strata) {
    const Fleet fleet(strata);
    return spread_of_total(Jackknife(Design(fleet.machines), 1), fleet.values).degrees;
  };
  EXPECT_EQ(degrees({1000}), 63);
  EXPECT_EQ(degrees({20, 10}), 28);
  EXPECT_EQ(degrees({1}), 0);
}

// The square of a mean is too large by the variance of the mean.
TEST(Jackknife, FindsTheBiasOfASquare) {
  Fleet fleet({64}, 1e-9);
  const Design design(fleet.machines);
  const Jackknife jackknife(design, 1);
  const double mean = std::accumulate(fleet.values.begin(), fleet.values.end(), 0.0) / 64;
  std::vector<double> squares = replicates(jackknife, fleet.values);
  for (double& total : squares) {
    total = total / 64 * (total / 64);
  }
  const double variance_of_mean = design.spread(fleet.values).variance / (64 * 64);
  EXPECT_NEAR(jackknife.bias(mean * mean, squares), variance_of_mean, 0.01 * variance_of_mean);
}

}  // namespace
}  // namespace plimsoll::statistics
