#include "scheduler/draws/draw_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/time.h"

namespace plimsoll::scheduler {
namespace {

constexpr int64_t kNow = 1'795'413'661 * kNsPerSecond;  // 2026-11-23T06:01:01Z

DrawSchedule schedule(DrawTiming timing = {}) {
  timing.interval_ns = timing.interval_ns == 0 ? 10 * kNsPerMinute : timing.interval_ns;
  timing.window_ns = timing.window_ns == 0 ? 30 * kNsPerSecond : timing.window_ns;
  return *DrawSchedule::make(timing);
}

TEST(DrawSchedule, IntervalsFollowOneAnotherSince1970) {
  const DrawSchedule draws = schedule();
  const ScheduledDraw draw = draws.newest(kNow);
  EXPECT_EQ(draw.id, "fleet-2026-11-23T06:00:00Z");
  EXPECT_EQ(draw.interval_start_ns, kNow - 61 * kNsPerSecond);
  EXPECT_EQ(draws.newest(draw.interval_start_ns), draw);
  EXPECT_EQ(draws.newest(draw.interval_start_ns - 1).number, draw.number - 1);
  EXPECT_EQ(draws.draw(draw.number + 1).interval_start_ns, draw.interval_start_ns + 10 * kNsPerMinute);
  EXPECT_EQ(draws.newest(-1).interval_start_ns, -10 * kNsPerMinute);
}

TEST(DrawSchedule, OrdersHaveSeedsOfTheirOwnThatRepeat) {
  const DrawSchedule draws = schedule({.seed = 7});
  EXPECT_EQ(draws.seed_of_order(kNow), schedule({.seed = 7}).seed_of_order(kNow));
  std::set<uint64_t> seeds;
  for (int64_t number = 0; number < 1000; ++number) {
    seeds.insert({draws.draw(number).seed, draws.seed_of_order(number)});
  }
  seeds.insert({schedule({.seed = 8}).seed_of_order(0), draws.seed_of_order(kNow)});
  EXPECT_EQ(seeds.size(), 2002);
}

TEST(DrawSchedule, ADrawIsMadeBeforeItsInterval) {
  const DrawSchedule draws = schedule({.lead_ns = 20 * kNsPerSecond});
  const ScheduledDraw next = draws.newest(kNow + 9 * kNsPerMinute - 21 * kNsPerSecond);
  EXPECT_EQ(next.id, "fleet-2026-11-23T06:10:00Z");
  EXPECT_EQ(next.made_ns, next.interval_start_ns - 20 * kNsPerSecond);
  EXPECT_EQ(draws.newest(next.made_ns - 1).number, next.number - 1);
}

TEST(DrawSchedule, WindowsLieAnywhereInTheirIntervals) {
  const DrawSchedule draws = schedule({.seed = 7});
  constexpr int64_t kDraws = 10'000;
  std::vector<double> times(10);
  for (int64_t number = 0; number < kDraws; ++number) {
    const ScheduledDraw draw = draws.draw(number);
    const int64_t into_ns = draw.window_start_ns - draw.interval_start_ns;
    ASSERT_GE(into_ns, 0);
    ASSERT_LE(into_ns + 30 * kNsPerSecond, 10 * kNsPerMinute);
    ++times.at(static_cast<size_t>(10 * into_ns / (10 * kNsPerMinute - 30 * kNsPerSecond + 1)));
  }
  double chi_square = 0;
  for (const double count : times) {
    chi_square += (count - kDraws / 10.0) * (count - kDraws / 10.0) / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.88) << "the 99.9th percentile with 9 degrees of freedom";
}

TEST(DrawSchedule, AWindowMayFillItsInterval) {
  const DrawSchedule draws = schedule({.interval_ns = kNsPerMinute, .window_ns = kNsPerMinute});
  EXPECT_EQ(draws.draw(3).window_start_ns, 3 * kNsPerMinute);
}

TEST(DrawSchedule, EverySetOfEventsHasItsTurnAndNoFixedPlace) {
  const DrawSchedule draws = schedule({.event_sets = 3});
  std::set<std::vector<size_t>> orders;
  for (int64_t round = -50; round < 50; ++round) {
    std::vector<size_t> order;
    for (int64_t turn = 0; turn < 3; ++turn) {
      order.push_back(draws.draw(3 * round + turn).event_set);
    }
    orders.insert(order);
    std::ranges::sort(order);
    ASSERT_EQ(order, (std::vector<size_t>{0, 1, 2})) << "round " << round;
  }
  EXPECT_EQ(orders.size(), 6) << "every order comes up";
}

TEST(DrawSchedule, PoliciesDifferByTheirSeeds) {
  const DrawSchedule a = schedule({.seed = 1});
  const DrawSchedule b = schedule({.seed = 2});
  std::set<uint64_t> seeds;
  for (int64_t number = 0; number < 1000; ++number) {
    seeds.insert(a.draw(number).seed);
    seeds.insert(b.draw(number).seed);
  }
  EXPECT_EQ(seeds.size(), 2000);
  EXPECT_EQ(schedule({.seed = 1}).draw(5), a.draw(5));
  EXPECT_NE(a.draw(5).window_start_ns, b.draw(5).window_start_ns);
}

TEST(DrawSchedule, LengthsOutOfTheirBoundsAreRefused) {
  const DrawTiming good{.interval_ns = kNsPerMinute, .window_ns = kNsPerSecond};
  ASSERT_TRUE(DrawSchedule::make(good));
  const auto field_of = [&](auto change) {
    DrawTiming timing = good;
    change(timing);
    const auto made = DrawSchedule::make(timing);
    return made ? "none" : made.error().field;
  };
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.name = "a b"; }), "name");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.name = ""; }), "name");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.interval_ns = 0; }), "interval");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.interval_ns += 1; }), "interval");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.window_ns = 0; }), "window");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.window_ns = kNsPerMinute + 1; }), "window");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.lead_ns = -1; }), "lead");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.lead_ns = 2 * kNsPerMinute; }), "lead");
  EXPECT_EQ(field_of([](DrawTiming& timing) { timing.event_sets = 0; }), "event_sets");
}

}  // namespace
}  // namespace plimsoll::scheduler
