#include "base/stoppable_mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

TEST(StoppableMutex, IsHeldByOneThreadAtATime) {
  StoppableMutex mutex;
  constexpr int kTimes = 200;
  int count = 0;  // protected by mutex
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        const auto held = mutex.lock();
        ASSERT_TRUE(held);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, 4 * kTimes);
}

TEST(StoppableMutex, IsFreeOnceTheLastHoldIsGone) {
  StoppableMutex mutex;
  {
    auto held = mutex.lock();
    ASSERT_TRUE(held);
    const StoppableMutex::Hold moved = *std::move(held);
    EXPECT_FALSE(mutex.try_lock().has_value());
  }
  {
    const auto tried = mutex.try_lock();
    EXPECT_TRUE(tried.has_value());
    EXPECT_FALSE(mutex.try_lock().has_value());
  }
  EXPECT_TRUE(mutex.lock());
}

TEST(StoppableMutex, AThreadWhoseTimeIsOverWaitsNoLonger) {
  StoppableMutex mutex;
  const StopCheck is_over = []() -> Status { return fail(ErrorCode::kTooLarge, "it took too long"); };
  {
    const auto held = mutex.lock();
    ASSERT_TRUE(held);
    const StopScope scope(is_over);
    const auto waited = mutex.lock();
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(waited.error().message, "it took too long");
  }
  const StopScope scope(is_over);
  EXPECT_TRUE(mutex.lock());
}

}  // namespace
}  // namespace plimsoll
