#include "traces/bursts/burst_config.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plimsoll::traces {
namespace {

TEST(BurstConfig, IsOnesAndZeros) {
  const auto config = BurstConfig::of(3, 2);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->bits(), 0b11100U);
  EXPECT_EQ(config->length_ms(), 4);
  EXPECT_EQ(config->period_ms(), 32);
  EXPECT_EQ(config->share(), 0.125);
  EXPECT_EQ(BurstConfig::of_bits(0b11100), *config);
  EXPECT_EQ(BurstConfig::parse("3,2"), *config);
  EXPECT_EQ(BurstConfig::parse(config->text()), *config);
}

TEST(BurstConfig, RefusesWhatIsNone) {
  for (const uint64_t bits : std::vector<uint64_t>{0, 0b1010, 0b1011, 0b11011000, UINT64_MAX,
                                                   uint64_t{1} << 63U, uint64_t{1} << 21U}) {
    EXPECT_FALSE(BurstConfig::of_bits(bits)) << bits;
  }
  EXPECT_TRUE(BurstConfig::of_bits(uint64_t{1} << 20U));
  for (const auto& [ones, zeros] : std::vector<std::pair<uint32_t, uint32_t>>{{0, 5}, {21, 5}, {5, 21}}) {
    EXPECT_FALSE(BurstConfig::of(ones, zeros)) << ones << " " << zeros;
  }
  for (const char* text :
       {"", ",", "7", "7,", ",8", "7,8,9", "7;8", "-7,8", "7, 8", "0x7,8", "7,8 ", "99999999999,1"}) {
    const auto parsed = BurstConfig::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  }
}

TEST(BurstConfig, BurstsAreTheEndsOfPeriods) {
  const BurstConfig config = *BurstConfig::of(3, 2);
  for (int64_t ms = 0; ms < 96; ++ms) {
    EXPECT_EQ(config.is_burst(ms), ms % 32 >= 28) << ms;
  }
  EXPECT_EQ(config.burst_at_or_after(0), (BurstTimes{28, 32}));
  EXPECT_EQ(config.burst_at_or_after(28), (BurstTimes{28, 32}));
  EXPECT_EQ(config.burst_at_or_after(31), (BurstTimes{28, 32}));
  EXPECT_EQ(config.burst_at_or_after(32), (BurstTimes{60, 64}));
  EXPECT_EQ(config.burst_at_or_after(-1), (BurstTimes{-4, 0}));
}

// The formula that applications evaluate and the times that the daemon sleeps until are the same.
TEST(BurstConfig, TimesAgreeWithTheTest) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto ones = static_cast<uint32_t>(1 + random() % BurstConfig::kMaxShareBits);
    const auto zeros = static_cast<uint32_t>(random() % (BurstConfig::kMaxLengthBits + 1));
    const BurstConfig config = *BurstConfig::of(ones, zeros);
    const auto now = static_cast<int64_t>(random() % (uint64_t{1} << 41U));
    const BurstTimes burst = config.burst_at_or_after(now);
    ASSERT_EQ(config.is_burst(now), burst.begin_ms <= now && now < burst.end_ms);
    ASSERT_GT(burst.end_ms, now);
    ASSERT_LE(burst.end_ms - now, config.period_ms());
    ASSERT_EQ(burst.end_ms - burst.begin_ms, config.length_ms());
    ASSERT_TRUE(config.is_burst(burst.begin_ms) && config.is_burst(burst.end_ms - 1));
    ASSERT_FALSE(config.is_burst(burst.begin_ms - 1) || config.is_burst(burst.end_ms));
  }
}

}  // namespace
}  // namespace plimsoll::traces
