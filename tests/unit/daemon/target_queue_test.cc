#include "daemon/scrape/target_queue.h"

#include <gtest/gtest.h>

#include <future>

namespace plimsoll::scrape {
namespace {

std::shared_ptr<ScrapeTarget> profile_of(const std::string& program) {
  auto target = std::make_shared<ScrapeTarget>();
  target->program = program;
  return target;
}

TEST(TargetQueue, WhatWaitsOrIsBeingScrapedIsNotAddedAgain) {
  TargetQueue queue(2);
  const auto target = profile_of("a");
  EXPECT_TRUE(queue.add(target));
  EXPECT_FALSE(queue.add(target));
  EXPECT_EQ(queue.take(), target);
  EXPECT_FALSE(queue.add(target));
  queue.give_back(*target, false);
  EXPECT_TRUE(queue.add(target));
}

TEST(TargetQueue, OfOneProgramOneProfileIsFetchedAtATime) {
  TargetQueue queue(3);
  const auto heap = profile_of("a");
  const auto locks = profile_of("a");
  const auto other = profile_of("b");
  for (const auto& target : {heap, locks, other}) {
    queue.add(target);
  }
  EXPECT_EQ(queue.take(), heap);
  EXPECT_EQ(queue.take(), other);
  queue.give_back(*heap, false);
  EXPECT_EQ(queue.take(), locks);
}

TEST(TargetQueue, ThoseThatFailedLeaveOnePlaceToTheOthers) {
  TargetQueue queue(2);
  const auto hanging = profile_of("a");
  const auto hanging_too = profile_of("b");
  for (const auto& target : {hanging, hanging_too}) {
    queue.add(target);
    EXPECT_EQ(queue.take(), target);
    queue.give_back(*target, true);
  }
  const auto healthy = profile_of("c");
  for (const auto& target : {hanging, hanging_too, healthy}) {
    queue.add(target);
  }
  EXPECT_EQ(queue.take(), hanging);
  EXPECT_EQ(queue.take(), healthy) << "before the other one that failed";
  queue.give_back(*hanging, true);
  EXPECT_EQ(queue.take(), hanging_too);
}

TEST(TargetQueue, WithOnePlaceThoseThatFailedAreTriedAgain) {
  TargetQueue queue(1);
  const auto target = profile_of("a");
  queue.add(target);
  queue.give_back(*queue.take(), true);
  queue.add(target);
  EXPECT_EQ(queue.take(), target);
}

TEST(TargetQueue, WhatIsAbandonedIsNotHandedOut) {
  TargetQueue queue(2);
  const auto gone = profile_of("a");
  const auto other = profile_of("b");
  queue.add(gone);
  queue.add(other);
  queue.abandon(*gone);
  EXPECT_EQ(queue.take(), other);
  EXPECT_TRUE(queue.is_abandoned(*gone));
  EXPECT_FALSE(queue.is_abandoned(*other));
}

TEST(TargetQueue, StopEndsAllThatWait) {
  TargetQueue queue(2);
  const auto takes = [&queue] { return queue.take(); };
  auto first = std::async(std::launch::async, takes);
  auto second = std::async(std::launch::async, takes);
  queue.stop();
  EXPECT_EQ(first.get(), nullptr);
  EXPECT_EQ(second.get(), nullptr);
}

}  // namespace
}  // namespace plimsoll::scrape
