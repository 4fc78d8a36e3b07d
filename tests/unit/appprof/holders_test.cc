#include "appprof/holders.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "appprof/unwind.h"

namespace plimsoll::appprof {
namespace {

constexpr int64_t kAtOnce = 0;
constexpr int64_t kNever = INT64_MAX;

class Holders : public ::testing::Test {
 protected:
  // What the end of a wait finds: the depth of the holder's stack.
  size_t depth_after(int place) { return unwatch_lock(place, frames_).depth; }

  std::array<uintptr_t, kMaxFrames> frames_{};
  int lock_ = 0;
  int other_ = 0;
};

TEST_F(Holders, WhoReleasesAfterTheMomentOfTheSampleHeldIt) {
  const int place = watch_lock(&lock_, kAtOnce);
  ASSERT_NE(place, kNotWatched);
  note_release(&lock_, nullptr);
  EXPECT_GT(depth_after(place), 0);
  EXPECT_NE(frames_[0], 0);
}

TEST_F(Holders, WhoReleasesBeforeItDidNot) {
  const int place = watch_lock(&lock_, kNever);
  note_release(&lock_, nullptr);
  EXPECT_EQ(depth_after(place), 0);
}

TEST_F(Holders, OtherLocksAreNotMeant) {
  const int place = watch_lock(&lock_, kAtOnce);
  note_release(&other_, nullptr);
  note_holder(&other_, static_cast<size_t>(place), 0);
  EXPECT_EQ(depth_after(place), 0);
}

TEST_F(Holders, TheFirstOfSeveralReleasesIsTheHolders) {
  const int place = watch_lock(&lock_, kAtOnce);
  note_release(&lock_, nullptr);
  std::array<uintptr_t, kMaxFrames> later{};
  [&] { note_release(&lock_, nullptr); }();
  EXPECT_GT(unwatch_lock(place, later).depth, 0);
  EXPECT_EQ(depth_after(watch_lock(&lock_, kNever)), 0) << "the place is free again, and knows nothing";
}

TEST_F(Holders, AFewWaitersOfALockAreWatched) {
  const int place = watch_lock(&lock_, kAtOnce);
  std::array<int, kWaitersOfPlace - 1> others{};
  for (int& other : others) {
    other = watch_lock(&lock_, kAtOnce);
    EXPECT_NE(other, kNotWatched);
  }
  EXPECT_EQ(watch_lock(&lock_, kAtOnce), kNotWatched);
  EXPECT_EQ(depth_after(kNotWatched), 0);
  for (const int other : others) {
    EXPECT_EQ(depth_after(other), 0);
  }
  EXPECT_EQ(depth_after(place), 0) << "it was not released";
  EXPECT_EQ(watch_lock(&lock_, kAtOnce), place);
  EXPECT_EQ(depth_after(place), 0);
}

TEST_F(Holders, AForkedChildHasNoWaiters) {
  const int place = watch_lock(&lock_, kAtOnce);
  reset_holders_in_child();
  EXPECT_EQ(watch_lock(&lock_, kAtOnce), place);
  EXPECT_EQ(depth_after(place), 0);
}

}  // namespace
}  // namespace plimsoll::appprof
