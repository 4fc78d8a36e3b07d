#include "daemon/waits/slots.h"

#include <gtest/gtest.h>

#include <array>

namespace plimsoll::waits {
namespace {

TEST(WaitSlots, AreAllRecordedWhereOneInOneIs) {
  Slots slots(1, 100);
  for (int64_t now_ns = 0; now_ns < 1000; now_ns += 100) {
    const Slot slot = slots.next(now_ns, 1);
    EXPECT_TRUE(slot.is_recorded);
    EXPECT_EQ(slot.weight, 1);
    EXPECT_EQ(slot.ends_ns, now_ns + 100);
  }
}

TEST(WaitSlots, AreRecordedOnceARoundAtARandomPlace) {
  constexpr uint32_t kOneIn = 5;
  constexpr int kRounds = 5000;
  Slots slots(2, 100);
  std::array<int, kOneIn> recorded{};
  for (int round = 0; round < kRounds; ++round) {
    int of_round = 0;
    for (int& of_place : recorded) {
      // What is asked for within a round holds for the next one.
      const Slot slot = slots.next(0, &of_place == recorded.data() ? kOneIn : 17);
      EXPECT_EQ(slot.weight, kOneIn);
      of_round += slot.is_recorded ? 1 : 0;
      of_place += slot.is_recorded ? 1 : 0;
    }
    ASSERT_EQ(of_round, 1);
  }
  for (const int times : recorded) {
    // Four standard errors of a share of a fifth.
    EXPECT_NEAR(times, kRounds / 5, 4 * 28.3);
  }
}

TEST(WaitSlots, AreFewerTheMoreRecordsThereAre) {
  EXPECT_EQ(one_slot_in(0, 10'000), 1);
  EXPECT_EQ(one_slot_in(10'000, 10'000), 1);
  EXPECT_EQ(one_slot_in(10'001, 10'000), 2);
  EXPECT_EQ(one_slot_in(150'000, 10'000), 15);
  EXPECT_EQ(one_slot_in(1e12, 10'000), Slots::kMaxWeight);
}

}  // namespace
}  // namespace plimsoll::waits
