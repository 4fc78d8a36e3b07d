#include "daemon/sampling/event_counts.h"

#include <gtest/gtest.h>

namespace plimsoll::perf {
namespace {

TEST(EventCounts, AddUpOverCpus) {
  const EventCounts sum = sum_of({{.value = 300, .time_enabled_ns = 1000, .time_running_ns = 1000},
                                  {.value = 100, .time_enabled_ns = 1000, .time_running_ns = 1000}});
  EXPECT_EQ(sum.total, 400);
  EXPECT_EQ(sum.time_enabled_ns, 2000);
  EXPECT_EQ(sum.scaling_time_running_ns(), 2000);
  EXPECT_EQ(sum.busiest_per_second, 300e6);
}

// 600 on the first CPU, 100 on the second: times summed before they scale would tell of 400 x 2000 / 1500 = 533.
TEST(EventCounts, AreScaledCounterByCounter) {
  const EventCounts sum = sum_of({{.value = 300, .time_enabled_ns = 1000, .time_running_ns = 500},
                                  {.value = 100, .time_enabled_ns = 1000, .time_running_ns = 1000}});
  EXPECT_EQ(sum.estimated_total, 700);
  EXPECT_EQ(sum.time_running_ns, 1500) << "of the clock";
  EXPECT_EQ(sum.scaling_time_running_ns(), 1143) << "400 x 2000 / 1143 = 700";
  EXPECT_EQ(sum.min_share, 0.5);
  EXPECT_EQ(sum.max_share, 1);
  EXPECT_EQ(sum.busiest_per_second, 600e6);
}

TEST(EventCounts, OfACpuWhoseCounterNeverRanPassForTheMean) {
  const EventCounts sum = sum_of({{.value = 300, .time_enabled_ns = 1000, .time_running_ns = 1000},
                                  {.value = 0, .time_enabled_ns = 1000, .time_running_ns = 0}});
  EXPECT_EQ(sum.estimated_total, 600);
  EXPECT_EQ(sum.scaling_time_running_ns(), 1000);
  EXPECT_EQ(sum.min_share, 0);
}

TEST(EventCounts, OfWhatNeverHappenedOrNeverRanAreZero) {
  EXPECT_EQ(sum_of({}).total, 0);
  EXPECT_EQ(sum_of({}).min_share, 1);
  const EventCounts quiet = sum_of({{.value = 0, .time_enabled_ns = 1000, .time_running_ns = 700}});
  EXPECT_EQ(quiet.scaling_time_running_ns(), 700);
  const EventCounts never = sum_of({{.value = 0, .time_enabled_ns = 1000, .time_running_ns = 0}});
  EXPECT_EQ(never.scaling_time_running_ns(), 0);
  const EventCounts closed = sum_of({{.value = 0, .time_enabled_ns = 0, .time_running_ns = 0}});
  EXPECT_EQ(closed.min_share, 1);
}

}  // namespace
}  // namespace plimsoll::perf
