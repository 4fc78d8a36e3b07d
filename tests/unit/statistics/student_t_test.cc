#include "statistics/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace plimsoll::statistics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Closed forms: of one degree (Cauchy's) and of two.
TEST(StudentT, AgreesWithClosedForms) {
  for (const double p : {0.5001, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.999, 0.999999}) {
    const double cauchy = std::tan(std::numbers::pi * (p - 0.5));
    EXPECT_NEAR(student_t_quantile(p, 1) / cauchy, 1, 1e-9) << p;
    const double two = (2 * p - 1) / std::sqrt(2 * p * (1 - p));
    EXPECT_NEAR(student_t_quantile(p, 2) / two, 1, 1e-9) << p;
  }
}

// Percentage points as printed tables have them (for instance NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
TEST(StudentT, AgreesWithTables) {
  struct Known {
    double degrees, p95, p975, p995;
  };
  for (const Known& known :
       {Known{3, 2.353, 3.182, 5.841}, Known{4, 2.132, 2.776, 4.604}, Known{5, 2.015, 2.571, 4.032},
        Known{10, 1.812, 2.228, 3.169}, Known{30, 1.697, 2.042, 2.750}, Known{100, 1.660, 1.984, 2.626},
        Known{kInfinity, 1.645, 1.960, 2.576}}) {
    EXPECT_NEAR(student_t_quantile(0.95, known.degrees), known.p95, 5.1e-4) << known.degrees;
    EXPECT_NEAR(student_t_quantile(0.975, known.degrees), known.p975, 5.1e-4) << known.degrees;
    EXPECT_NEAR(student_t_quantile(0.995, known.degrees), known.p995, 5.1e-4) << known.degrees;
  }
}

TEST(StudentT, IsSymmetric) {
  for (const double degrees : {1.0, 2.5, 40.0, kInfinity}) {
    EXPECT_DOUBLE_EQ(student_t_quantile(0.025, degrees), -student_t_quantile(0.975, degrees));
    EXPECT_NEAR(student_t_cdf(-1.3, degrees) + student_t_cdf(1.3, degrees), 1, 1e-12);
    EXPECT_NEAR(student_t_cdf(0, degrees), 0.5, 1e-12);
  }
}

TEST(StudentT, QuantileIsTheInverseForAnyDegrees) {
  for (const double degrees : {0.7, 1.0, 3.3, 17.0, 999.5, 1e5, 9e5, 1e8, kInfinity}) {
    for (const double p : {0.001, 0.3, 0.975, 0.9999}) {
      EXPECT_NEAR(student_t_cdf(student_t_quantile(p, degrees), degrees), p, 1e-9) << degrees << " " << p;
    }
  }
}

TEST(StudentT, ManyDegreesBecomeTheNormalDistribution) {
  const double normal = student_t_quantile(0.975, kInfinity);
  EXPECT_NEAR(normal, 1.959963984540054, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 999'999), normal, 1e-5);
  EXPECT_EQ(student_t_quantile(0.975, 1e6), normal);
  EXPECT_GT(student_t_quantile(0.975, 1000), normal);
}

}  // namespace
}  // namespace plimsoll::statistics
