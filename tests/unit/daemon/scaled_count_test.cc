#include "daemon/group_counts/scaled_count.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plimsoll {
namespace {

using Counters = std::vector<perf::CounterValues>;

perf::CounterValues counter(uint64_t value, uint64_t enabled_ns, uint64_t running_ns) {
  perf::CounterValues values{};
  values.value = value;
  values.time_enabled_ns = enabled_ns;
  values.time_running_ns = running_ns;
  return values;
}

// Since they were opened.
std::optional<ScaledCount> scaled(const Counters& counters) {
  return scaled_count(Counters(counters.size()), counters);
}

TEST(ScaledCount, IsTheSumOfWhatCountersThatAlwaysRanSay) {
  const auto count = scaled({counter(700, 1000, 1000), counter(50, 10, 10)});
  ASSERT_TRUE(count);
  EXPECT_DOUBLE_EQ(count->value, 750);
  EXPECT_DOUBLE_EQ(count->time_enabled_ns, 1010);
  EXPECT_DOUBLE_EQ(count->time_running_ns, 1010);
}

TEST(ScaledCount, IsOfTheWindowAlone) {
  const auto count = scaled_count(Counters{counter(100, 1000, 500)}, Counters{counter(160, 1400, 700)});
  ASSERT_TRUE(count);
  EXPECT_DOUBLE_EQ(count->value, 120);
}

// Half of 100 a ns on the one, all of 1 a ns on the other: their sum, scaled as one, would be 134,000.
TEST(ScaledCount, ScalesEachCounterBeforeTheSum) {
  const auto count = scaled({counter(100'000, 2000, 1000), counter(1000, 1000, 1000)});
  ASSERT_TRUE(count);
  EXPECT_DOUBLE_EQ(count->value, 201'000);
}

TEST(ScaledCount, IsZeroWhereTheGroupDidNotRun) {
  const auto count = scaled(Counters(2));
  ASSERT_TRUE(count);
  EXPECT_EQ(count->value, 0);
}

TEST(ScaledCount, IsUnknownWhereACounterNeverRanWhileTheGroupDid) {
  EXPECT_FALSE(scaled({counter(0, 1000, 0)}));
  EXPECT_FALSE(scaled({counter(5000, 1000, 1000), counter(0, 11, 0)}));
  EXPECT_FALSE(scaled({counter(1, 1000, 9)})) << "under a hundredth";
  EXPECT_FALSE(scaled({})) << "no CPU has the event";
  EXPECT_FALSE(scaled({counter(uint64_t{1} << 60, 1, 1)}));
}

TEST(ScaledCount, TakesTheOthersRateForAHundredthOfTheTime) {
  const auto count = scaled({counter(9900, 990, 990), counter(0, 10, 0)});
  ASSERT_TRUE(count);
  EXPECT_DOUBLE_EQ(count->value, 10'000);
}

// Each CPU has a rate of its own; counters run for random parts of their time.
TEST(ScaledCount, IsRightWhateverPartOfTheTimeCountersRan) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    Counters counters;
    double expected = 0;
    for (size_t cpu = 0; cpu < 8; ++cpu) {
      const uint64_t rate = random() % 100;
      const uint64_t enabled_ns = 1000 + random() % 100'000;
      const uint64_t running_ns = enabled_ns / 50 + 1 + random() % (enabled_ns / 2);
      counters.push_back(counter(rate * running_ns, enabled_ns, running_ns));
      expected += static_cast<double>(rate * enabled_ns);
    }
    const auto count = scaled(counters);
    ASSERT_TRUE(count);
    EXPECT_NEAR(count->value, expected, 1e-9 * expected + 1e-6);
  }
}

}  // namespace
}  // namespace plimsoll
