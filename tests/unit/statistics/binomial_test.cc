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

}  // namespace
}  // namespace plimsoll::statistics
