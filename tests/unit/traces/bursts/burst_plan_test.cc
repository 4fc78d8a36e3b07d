#include "traces/bursts/burst_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace plimsoll::traces {
namespace {

std::string planned(double request_ms, double share, double clock_error_ms = 0) {
  const auto plan =
      plan_bursts({.request_ms = request_ms, .max_share = share, .clock_error_ms = clock_error_ms});
  return plan ? fmt::format("{} {:.3f} {:.1f}", plan->config.text(), plan->whole_share, plan->bursts_per_day)
              : plan.error().message;
}

TEST(BurstPlan, HasTenRequestsInABurst) {
  EXPECT_EQ(planned(20, 0.01), "7,8 0.855 2636.7");
  EXPECT_EQ(planned(5, 0.01), "7,6 0.855 10546.9");
  EXPECT_EQ(planned(50, 0.01), "7,9 0.822 1318.4");
  EXPECT_EQ(planned(500, 0.02), "6,13 0.885 164.8");
  EXPECT_EQ(planned(0.1, 0.5), "1,0 0.818 43200000.0");
  EXPECT_EQ(planned(25.6, 0.25), "2,8 0.818 84375.0");
  EXPECT_EQ(planned(25.7, 0.25).substr(0, 4), "2,9 ");
}

TEST(BurstPlan, ConsidersClocks) {
  // A tenth of a burst between two machines that are off in opposite directions.
  EXPECT_EQ(planned(1, 0.01, 20).substr(0, 4), "7,9 ");
  EXPECT_EQ(planned(1, 0.01, 1).substr(0, 4), "7,5 ");
  EXPECT_EQ(planned(20, 0.01, 1), "7,8 0.842 2636.7");
  // 256 ms would do, and 236 of them are shared by all machines, were it not that 10 x 25 = 250 are wanted.
  EXPECT_EQ(planned(25, 0.01, 10).substr(0, 4), "7,9 ");
}

TEST(BurstPlan, RefusesWhatCannotBe) {
  for (const double request_ms : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(plan_bursts({.request_ms = request_ms}));
  }
  for (const double share : {0.0, -0.1, 1.0, 1e-7, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(plan_bursts({.request_ms = 5, .max_share = share})) << share;
  }
  EXPECT_FALSE(plan_bursts({.request_ms = 5, .clock_error_ms = -1}));
  EXPECT_EQ(planned(200'000, 0.01),
            "no burst is long enough for requests of 200000 ms and clocks within 0 ms");
  EXPECT_FALSE(plan_bursts({.request_ms = std::numeric_limits<double>::infinity()}));
}

// Requests that begin at any time, machines whose clocks are off by up to the error: what the formula says.
TEST(BurstPlan, ShareOfWholeRequestsIsWhatRandomRequestsShow) {
  constexpr double kErrorMs = 4;
  const auto plan = plan_bursts({.request_ms = 20, .max_share = 0.125, .clock_error_ms = kErrorMs});
  ASSERT_TRUE(plan);
  const auto period = static_cast<double>(plan->config.period_ms());
  const double begin = period - static_cast<double>(plan->config.length_ms());
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> start(0, period);
  int touching = 0;
  int whole = 0;
  for (int i = 0; i < 400'000; ++i) {
    const double from = start(random);
    const double to = from + 20;
    // The machines farthest off record [begin - e, period - e) and [begin + e, period + e).
    touching += to > begin - kErrorMs && from < period + kErrorMs ? 1 : 0;
    touching += from < kErrorMs ? 1 : 0;  // the burst before, of the machine that is late
    whole += from >= begin + kErrorMs && to <= period - kErrorMs ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(whole) / touching, plan->whole_share, 0.006);
}

}  // namespace
}  // namespace plimsoll::traces
