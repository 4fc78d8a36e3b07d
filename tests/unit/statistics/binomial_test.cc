#include "statistics/binomial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll::statistics {
namespace {

TEST(WilsonLow, IsTheSmallestShareThatIsZDeviationsFromWhatWasSeen) {
  for (const double share : {0.01, 0.2, 0.5, 0.99}) {
    for (const double samples : {7.0, 100.0, 12'345.0}) {
      const double low = wilson_low(share, samples, 3);
      EXPECT_GT(low, 0);
      EXPECT_NEAR((share - low) / std::sqrt(low * (1 - low) / samples), 3, 1e-9)
          << share << " of " << samples;
    }
  }
}

TEST(WilsonLow, OfAllOrNothing) {
  EXPECT_EQ(wilson_low(0, 50, 3), 0);
  EXPECT_NEAR(wilson_low(1, 50, 2), 50.0 / 54, 1e-12) << "n / (n + z^2)";
  EXPECT_EQ(wilson_low(0.5, 0, 2), 0);
}

TEST(BinomialUpperTail, IsTheSumOfItsTerms) {
  for (const double probability : {0.001, 0.2, 0.7}) {
    for (const int trials : {1, 10, 40}) {
      double sum = 0;
      for (int hits = trials; hits >= 0; --hits) {
        const double choose =
            std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1));
        sum += choose * std::pow(probability, hits) * std::pow(1 - probability, trials - hits);
        EXPECT_NEAR(binomial_upper_tail(hits, trials, probability) / sum, 1, 1e-10)
            << hits << " of " << trials;
      }
    }
  }
}

TEST(BinomialUpperTail, KeepsItsPrecisionFarOut) {
  EXPECT_NEAR(std::log(binomial_upper_tail(50, 50, 1e-4)), 50 * std::log(1e-4), 1e-9);
  EXPECT_EQ(binomial_upper_tail(3, 2, 0.5), 0);
  EXPECT_EQ(binomial_upper_tail(0, 2, 0.5), 1);
}

}  // namespace
}  // namespace plimsoll::statistics
