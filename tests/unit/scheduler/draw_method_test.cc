#include "scheduler/assignments/draw_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scheduler/drawer_fixture.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::HasSubstr;

using DrawMethodTest = DrawerFixture;

TEST_F(DrawMethodTest, ADrawThatIsNotByChanceIsFound) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  add_machine("m99", "a", kStartNs, {"db"});  // and the fleet is another by now
  const auto draw = **open_store().draw(kept()[0].draw.id);
  ASSERT_TRUE(draw_again(draw, fleet_at()));
  const auto complaint = [&](const auto& change) {
    store::DrawWithMachines changed = draw;
    change(changed);
    const Status again = draw_again(changed, fleet_at());
    return again ? "" : again.error().text();
  };
  EXPECT_THAT(complaint([](auto& d) { d.machines[0].machine_id = "m99"; }),
              HasSubstr("cannot be reproduced: 2 differences: machine m"));
  EXPECT_THAT(complaint([](auto& d) { d.machines[0].inclusion_probability = 0.5; }),
              HasSubstr("drawn with probability 0.5, from platform=a, now drawn with probability 0.25"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.strata[1].machines = 5; }),
              HasSubstr("stratum platform=b: 1 of 5 machines (1 expected), now 1 of 4 machines"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.seed += 1; }), HasSubstr("missing"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.made_ns = kStartNs; }), HasSubstr("now 1 of 1 machines"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.made_ns = kStartNs + 10 * kNsPerMinute; }),
              HasSubstr("expected), now missing"))
      << "nobody is alive by then";
  EXPECT_THAT(complaint([](auto& d) { d.draw.method.reset(); }), HasSubstr("did not store its method"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.method->set_turn(1); }), HasSubstr("no such turn: 1 of 1"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.method->add_strata("color"); }), HasSubstr("color"));
  EXPECT_THAT(complaint([](auto& d) { d.machines.clear(); }), HasSubstr("are past retention"));
}

TEST_F(DrawMethodTest, WhoRestsFollowsFromTheSeedOfTurns) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 0.5;
  wanted.cooldown_ns = 10 * kNsPerMinute;
  start(wanted, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  store::DrawWithMachines draw = **open_store().draw(kept()[0].draw.id);
  ASSERT_EQ(draw.draw.method->turns(), 2);
  EXPECT_TRUE(draw_again(draw, fleet_at()));
  draw.draw.method->set_turns_seed(draw.draw.method->turns_seed() + 1);
  EXPECT_FALSE(draw_again(draw, fleet_at()));
}

}  // namespace
}  // namespace plimsoll::scheduler
