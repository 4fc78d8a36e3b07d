#include "daemon/waits/stack_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plimsoll::waits {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr uint32_t kStackless = 0;

// Stacks 1, 2, ... of a builder, which are those of one frame each.
struct Stacks {
  ProfileBuilder builder;
  std::vector<uint32_t> nodes{kStackless};

  explicit Stacks(uint32_t count) {
    for (uint32_t i = 1; i <= count; ++i) {
      const uint32_t location = builder.location(wire::UNRESOLVED, 0, i);
      nodes.push_back(builder.stack(std::span(&location, 1)));
    }
  }
  const uint32_t* operator[](size_t i) const { return &nodes[i]; }
};

// Hits by stack.
std::map<uint32_t, uint64_t> write(StackShares& shares, Stacks& stacks, wire::RawProfile* written = nullptr) {
  wire::RawProfile profile;
  profile.add_events()->set_name("off-cpu-ns");
  shares.write(0, kStackless, stacks.builder);
  stacks.builder.finish(profile);
  std::map<uint32_t, uint64_t> hits;
  const wire::SampleTable& table = profile.samples(0);
  for (int i = 0; i < table.hits_size(); ++i) {
    hits[table.stack_size() > 0 ? table.stack(i) : 0] += table.hits(i);
  }
  if (written != nullptr) {
    *written = profile;
  }
  return hits;
}

TEST(StackShares, DivideTheTimeOfAClassAmongItsStacks) {
  Stacks stacks(2);
  StackShares shares;
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(0, 1000, 1000, stacks[2]);
  for (int i = 0; i < 7; ++i) {
    shares.add(0, 1000, 1000, nullptr);
  }
  EXPECT_EQ(shares.total_ns(), 10'000);
  EXPECT_EQ(shares.waits(), 10);
  EXPECT_THAT(write(shares, stacks), ElementsAre(Pair(1, 6666), Pair(2, 3334)));
  EXPECT_EQ(shares.total_ns(), 0) << "starts afresh";
}

TEST(StackShares, NeverPutALongWaitUnderTheStackOfAShortOne) {
  Stacks stacks(1);
  StackShares shares;
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(0, 1000, 1000, nullptr);
  shares.add(0, 1'000'000, 1'000'000, nullptr);
  EXPECT_THAT(write(shares, stacks), ElementsAre(Pair(kStackless, 1'000'000), Pair(1, 2000)));
}

TEST(StackShares, NeverPutAThreadsWaitUnderTheStackOfAnother) {
  Stacks stacks(1);
  StackShares shares;
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(1, 1000, 5000, nullptr);
  EXPECT_THAT(write(shares, stacks), ElementsAre(Pair(kStackless, 5000), Pair(1, 1000)));
}

TEST(StackShares, KeepTheTimeWhereThereIsNoRoomForStacks) {
  Stacks stacks(2);
  StackShares shares(1);
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(0, 1000, 1000, stacks[2]);
  EXPECT_THAT(write(shares, stacks), ElementsAre(Pair(1, 2000)));
}

TEST(StackShares, AreSamplesThatStandForDifferentTimes) {
  Stacks stacks(1);
  StackShares shares;
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(0, 3000, 3000, stacks[1]);
  wire::RawProfile profile;
  write(shares, stacks, &profile);
  ASSERT_EQ(profile.events_size(), 2);
  EXPECT_EQ(profile.events(0).samples(), 2);
  EXPECT_EQ(profile.events(1).name(), "off-cpu-ns^2");
  EXPECT_DOUBLE_EQ(profile.events(1).counter_total(), 1e6 + 9e6);
}

// Two of eight waits have stacks, so that each of them stands for four: as if two samples of 4000 had been taken.
TEST(StackShares, AreNoMoreCertainThanTheWaitsWithStacks) {
  Stacks stacks(2);
  StackShares shares;
  shares.add(0, 1000, 1000, stacks[1]);
  shares.add(0, 1000, 1000, stacks[2]);
  for (int i = 0; i < 6; ++i) {
    shares.add(0, 1000, 1000, nullptr);
  }
  wire::RawProfile profile;
  EXPECT_THAT(write(shares, stacks, &profile), ElementsAre(Pair(1, 4000), Pair(2, 4000)));
  ASSERT_EQ(profile.events_size(), 2);
  EXPECT_DOUBLE_EQ(profile.events(1).counter_total(), 2 * 4000.0 * 4000.0);
}

TEST(StackShares, OfRandomWaitsAddUpExactly) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    Stacks stacks(5);
    StackShares shares;
    uint64_t total = 0;
    for (int i = 0; i < 300; ++i) {
      const uint64_t time_ns = 1 + random() % (uint64_t{1} << (random() % 40));
      const uint32_t* const stack = random() % 3 == 0 ? stacks[1 + random() % 5] : nullptr;
      shares.add(static_cast<uint32_t>(random() % 4), time_ns, time_ns, stack);
      total += time_ns;
    }
    uint64_t written = 0;
    for (const auto& [stack, hits] : write(shares, stacks)) {
      written += hits;
    }
    ASSERT_EQ(written, total) << "trial " << trial;
  }
}

}  // namespace
}  // namespace plimsoll::waits
