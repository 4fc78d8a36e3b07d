#include "http/return_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/time.h"

namespace plimsoll::http {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kMillisecond = kNsPerSecond / 1000;

TEST(ReturnTimes, BringBackAsManyInASecondAsAreServed) {
  ReturnTimes times;
  std::vector<int> back(10);
  for (int i = 0; i < 5'000; ++i) {
    ++back[static_cast<size_t>(times.next_s(kNsPerSecond, kMillisecond))];
  }
  EXPECT_THAT(back, ElementsAre(0, 1000, 1000, 1000, 1000, 1000, 0, 0, 0, 0));
}

TEST(ReturnTimes, ForgetTurnsThatArePast) {
  ReturnTimes times;
  for (int i = 0; i < 5'000; ++i) {
    times.next_s(0, kMillisecond);
  }
  EXPECT_EQ(times.next_s(2 * kNsPerSecond, kMillisecond), 4);  // 3.001 s
  EXPECT_EQ(times.next_s(10 * kNsPerSecond, kMillisecond), 1);
}

TEST(ReturnTimes, ArePutOffNoFurtherThanAMinute) {
  ReturnTimes times;
  std::vector<int64_t> waits;
  for (int i = 0; i < 100; ++i) {
    waits.push_back(times.next_s(0, 100 * kNsPerSecond));
  }
  EXPECT_THAT(waits, Each(ReturnTimes::kMaxSeconds));
  EXPECT_EQ(times.next_s(59 * kNsPerSecond, kMillisecond), 2)
      << "what was promised for later than it is was kept";
}

TEST(ReturnTimes, AreSoonWhereNothingIsKnownOfThePace) {
  ReturnTimes times;
  EXPECT_EQ(times.next_s(0, 0), 1);
  EXPECT_EQ(times.next_s(0, 0), 1);
}

}  // namespace
}  // namespace plimsoll::http
