#include "statistics/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll::statistics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Interval, IsSymmetricOnItsScale) {
  const Interval linear = interval(10, 1, kInfinity, Scale::kLinear);
  EXPECT_NEAR(linear.low, 10 - 1.959964, 1e-6);
  EXPECT_NEAR(linear.high, 10 + 1.959964, 1e-6);
  const Interval log = interval(10, 1, kInfinity, Scale::kLog);
  EXPECT_NEAR(log.low * log.high, 100, 1e-9);
  EXPECT_NEAR(std::log(log.high / 10), 0.1959964, 1e-6);
  const Interval logit = interval(0.2, 0.01, kInfinity, Scale::kLogit);
  EXPECT_NEAR(logit.low / (1 - logit.low) * logit.high / (1 - logit.high), 0.25 * 0.25, 1e-9);
}

TEST(Interval, OfSmallErrorsIsTheSameOnEveryScale) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog, Scale::kLogit}) {
    const Interval ends = interval(0.3, 1e-5, kInfinity, scale);
    EXPECT_NEAR((ends.high - ends.low) / 2, 1.959964e-5, 1e-8);
  }
}

TEST(Interval, OfLargeErrorsStaysOnItsScale) {
  const Interval share = interval(0.01, 0.1, 3, Scale::kLogit);
  EXPECT_GT(share.low, 0);
  EXPECT_LT(share.high, 1);
  EXPECT_GT(interval(1, 5, 3, Scale::kLog).low, 0);
}

TEST(Interval, FewerDegreesAreWider) {
  EXPECT_NEAR(interval(0, 1, 3, Scale::kLinear).high, 3.182446, 1e-5);
  EXPECT_NEAR(interval(0, 1, 10, Scale::kLinear).high, 2.228139, 1e-5);
}

TEST(MarginKind, HasANameForEach) {
  EXPECT_EQ(margin_kind_name(MarginKind::kFewMachines), "few machines");
  EXPECT_EQ(margin_kind_name(MarginKind::kTooFewMachines), "too few machines");
}

}  // namespace
}  // namespace plimsoll::statistics
