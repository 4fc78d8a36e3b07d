#include "base/time.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Time, DurationsAreWrittenInTheLongestUnitThatTheyAreAWholeNumberOf) {
  const std::pair<int64_t, const char*> cases[] = {{86'400'000'000'000, "1d"},
                                                   {90'000'000'000, "90s"},
                                                   {5'400'000'000'000, "90m"},
                                                   {7'200'000'000'000, "2h"},
                                                   {1'500'000'000, "1500ms"},
                                                   {1'500'000, "1500us"},
                                                   {7, "7ns"},
                                                   {0, "0s"}};
  for (const auto& [duration_ns, text] : cases) {
    EXPECT_EQ(format_duration(duration_ns), text);
    EXPECT_EQ(parse_duration_ns(text), duration_ns);
  }
}

constexpr int64_t kNow = 1'800'000'000 * kNsPerSecond;

TEST(Time, FormatsAsRfc3339WithAFractionOnlyWhereThereIsOne) {
  EXPECT_EQ(format_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(kNow), "2027-01-15T08:00:00Z");
  EXPECT_EQ(format_time(kNow + 250'000'000), "2027-01-15T08:00:00.25Z");
}

TEST(Time, ParsesWhatItFormats) {
  for (const int64_t time_ns : {int64_t{0}, kNow, kNow + 1, kNow + 123'456'789}) {
    EXPECT_EQ(parse_time_ns(format_time(time_ns), 0), time_ns);
  }
}

TEST(Time, ParsesZonesAndRelativeTimes) {
  EXPECT_EQ(parse_time_ns("2027-01-15T09:00:00+01:00", 0), kNow);
  EXPECT_EQ(parse_time_ns("now", kNow), kNow);
  EXPECT_EQ(parse_time_ns("-2h", kNow), kNow - 7200 * kNsPerSecond);
  EXPECT_EQ(parse_time_ns("90s", kNow), kNow - 90 * kNsPerSecond);
  EXPECT_EQ(parse_time_ns("1.5m", kNow), kNow - 90 * kNsPerSecond);
}

TEST(Time, MovesWithTheClockWhereItIsRelative) {
  for (const char* text : {"now", "1h", "-1h", "0s", "90d"}) {
    EXPECT_TRUE(moves_with_clock(text)) << text;
  }
  for (const char* text : {"2027-01-15T08:00:00Z", "2027-01-15T09:00:00+01:00", "", "soon", "5"}) {
    EXPECT_FALSE(moves_with_clock(text)) << text;
  }
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* text : {"", "-", "5", "-90", "1.5", "--2h", "h", "1x", "1h30m", "-1h-", "nan", "inf",
                           "1e3", "999999d", "2027-02-30T00:00:00Z", "2027-01-15", "2027-01-15T08:00:00",
                           "2027-13-15T08:00:00Z", "2027-01-15T08:00:00.Z"}) {
    EXPECT_EQ(parse_time_ns(text, kNow), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plimsoll
