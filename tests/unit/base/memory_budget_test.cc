#include "base/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "tests/eventually.h"

namespace plimsoll {
namespace {

TEST(MemoryBudget, IsSharedUntilItIsUsedUp) {
  MemoryBudget budget(100, 0);
  auto first = std::make_unique<MemoryShare>(budget);
  MemoryShare second(budget);
  EXPECT_TRUE(first->try_take(60));
  const auto refused = second.try_take(41);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(second.try_take(40));
  first.reset();
  EXPECT_TRUE(second.try_take(60));
}

TEST(MemoryBudget, OneThatIsLargerHasItAlone) {
  MemoryBudget budget(100, 0);
  MemoryShare large(budget);
  EXPECT_TRUE(large.try_take(50));
  EXPECT_TRUE(large.try_take(1000)) << "nobody else holds any";
  MemoryShare small(budget);
  EXPECT_FALSE(small.try_take(1));
}

TEST(MemoryBudget, SmallSharesAreNotCounted) {
  MemoryBudget budget(100, 10);
  MemoryShare large(budget);
  EXPECT_TRUE(large.try_take(100));
  MemoryShare small(budget);
  EXPECT_TRUE(small.try_take(4));
  EXPECT_TRUE(small.try_take(6));
  EXPECT_FALSE(small.try_take(1)) << "from here on it is none";
}

TEST(MemoryBudget, WhoeverWaitsIsNotPassed) {
  MemoryBudget budget(100, 10);
  auto held = std::make_unique<MemoryShare>(budget);
  ASSERT_TRUE(held->try_take(60));
  std::atomic<bool> has_it = false;
  std::latch may_end(1);
  std::jthread waiter([&] {
    MemoryShare share(budget);
    share.take(90);
    has_it = true;
    may_end.wait();
  });
  EXPECT_TRUE(plimsoll::testing::eventually([&] { return !MemoryShare(budget).try_take(11); }))
      << "there is room for it, and somebody waits";
  EXPECT_TRUE(MemoryShare(budget).try_take(10));
  EXPECT_FALSE(has_it);
  held.reset();
  EXPECT_TRUE(plimsoll::testing::eventually([&] { return has_it.load(); }));
  may_end.count_down();
}

}  // namespace
}  // namespace plimsoll
