#include "store/segments/zone_filter.h"

#include <gtest/gtest.h>

#include <random>

namespace plimsoll::store {
namespace {

ChunkZones stacks(uint32_t min, uint32_t max) {
  return {{{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {min, max}}}};
}

ZoneFilter filter_of_stacks(const std::vector<bool>& flags) {
  RowFilter filter;
  filter[Column::kStack] = IdSet::of_flags(flags);
  return ZoneFilter(filter);
}

TEST(ZoneFilterTest, PassesOverChunksOfWhichNoIdIsSelected) {
  const ZoneFilter filter = filter_of_stacks({false, false, true, false, true});
  EXPECT_FALSE(filter.may_hold(stacks(0, 1)));
  EXPECT_TRUE(filter.may_hold(stacks(0, 2)));
  EXPECT_FALSE(filter.may_hold(stacks(3, 3)));
  EXPECT_TRUE(filter.may_hold(stacks(3, 100)));
  EXPECT_FALSE(filter.may_hold(stacks(5, UINT32_MAX))) << "beyond the flags";
}

TEST(ZoneFilterTest, EveryColumnMustHoldSome) {
  ChunkZones zones;
  zones.of.fill({1, 2});
  EXPECT_TRUE(ZoneFilter({}).may_hold(zones));
  for (const Column column : kColumns) {
    RowFilter filter;
    filter[column] = IdSet::of_flags({true, false, false, true});
    EXPECT_FALSE(ZoneFilter(filter).may_hold(zones));
    filter[column] = IdSet::of({0, 2, 3});
    EXPECT_TRUE(ZoneFilter(filter).may_hold(zones));
  }
}

TEST(ZoneFilterTest, RandomZonesHoldWhatAScanFinds) {
  std::mt19937 random(4);
  for (int round = 0; round < 1000; ++round) {
    std::vector<bool> flags(1 + random() % 40);
    for (size_t id = 0; id < flags.size(); ++id) {
      flags[id] = random() % 8 == 0;
    }
    const auto min = static_cast<uint32_t>(random() % 50);
    const auto max = static_cast<uint32_t>(min + random() % 10);
    bool is_any = false;
    for (uint32_t id = min; id <= max; ++id) {
      is_any = is_any || IdSet::selects(flags, id);
    }
    ASSERT_EQ(filter_of_stacks(flags).may_hold(stacks(min, max)), is_any);
  }
}

}  // namespace
}  // namespace plimsoll::store
