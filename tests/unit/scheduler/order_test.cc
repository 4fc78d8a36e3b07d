#include "scheduler/assignments/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/scheduler/drawer_fixture.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using OrderTest = DrawerFixture;

MeasuringOrder order(std::vector<std::string> machines, std::vector<std::string> jobs) {
  MeasuringOrder order;
  order.by = "alice";
  order.machines = std::move(machines);
  order.jobs = std::move(jobs);
  order.collects.add_events()->set_name("cycles");
  return order;
}

TEST_F(OrderTest, WhoIsMeantByAnOrderMeasuresSoon) {
  add_machines(kStartNs);
  for (int i = 0; i < 4; ++i) {
    add_machine(fmt::format("web{}", i), "a", kStartNs, {"web"}, 0,
                i == 3 ? std::vector<std::string>{"cycles"} : std::vector<std::string>());
  }
  MeasuringOrder two = order({}, {"web"});
  two.max_machines = 2;
  const auto id = drawer_->draw_by_order(two, kStartNs, machines_);
  ASSERT_TRUE(id) << id.error().text();
  const auto draw = kept()[0];
  EXPECT_EQ(draw.draw.id, "order-" + format_time(kStartNs + 2 * kHeartbeatNs));
  EXPECT_EQ(draw.draw.policy, "ordered by alice: max 2 machines that run web, for 30s");
  EXPECT_EQ(draw.draw.machines(), 3) << "one of those that run it has no cycles";
  ASSERT_THAT(draw.machines, SizeIs(2));
  const std::string& chosen = draw.machines[0].machine_id;
  EXPECT_DOUBLE_EQ(draw.machines[0].inclusion_probability, 2.0 / 3);
  const auto assignments = drawer_->heard_from(chosen, {}, kStartNs + kHeartbeatNs);
  ASSERT_TRUE(assignments && assignments->size() == 1);
  EXPECT_EQ(assignments->front().duration_ns(), 30 * kNsPerSecond);
  EXPECT_EQ(assignments->front().start_ns(), kStartNs + 2 * kHeartbeatNs);
  EXPECT_EQ(assignments->front().draw().interval_ns(), 30 * kNsPerSecond);
  EXPECT_EQ(assignments->front().events(0).name(), "cycles");
  EXPECT_THAT(heard_from("m00", kStartNs + kHeartbeatNs), IsEmpty());
}

TEST_F(OrderTest, OrdersAndDrawsNeverMeetAndSafetyLimitsHoldForBoth) {
  DrawSettings wanted = settings();
  wanted.interval_ns = 2 * kNsPerMinute;
  wanted.safety.share_of_platform = 0.25;
  start(wanted, kStartNs);
  size_t orders = 0;
  for (int64_t now_ns = kStartNs; now_ns < kStartNs + 30 * kNsPerMinute; now_ns += 2 * kHeartbeatNs) {
    add_machines(now_ns);
    draw(now_ns);
    if ((now_ns - kStartNs) % kNsPerMinute == 0) {
      orders += drawer_->draw_by_order(order({}, {}), now_ns, machines_).has_value();
    }
  }
  EXPECT_EQ(orders, 30);
  const auto draws = kept();
  std::map<int64_t, int> changes;  // by time: how many more machines measure
  for (const store::DrawWithMachines& draw : draws) {
    for (const store::DrawnMachine& machine : draw.machines) {
      if (machine.window_start_ns > 0) {
        ++changes[machine.window_start_ns];
        --changes[store::window_end_ns(draw.draw, machine)];
      } else {
        EXPECT_THAT(machine.detail, HasSubstr("over the limit of machines profiled at once"));
      }
    }
  }
  int at_once = 0;
  for (const auto& [time_ns, change] : changes) {
    at_once += change;
    EXPECT_LE(at_once, 3) << "a quarter of eight and of four";
  }
  const auto is_of_policy = [](const auto& draw) { return !store::is_by_order(draw.draw.id); };
  EXPECT_EQ(std::ranges::count_if(draws, is_of_policy), 16)
      << "orders are in no draw's way: fifteen, and the one that is made ahead";
}

// The policy's draws count on those that lived when the server went away; who orders wants somebody now.
TEST_F(OrderTest, WhoWasNotHeardOfSinceTheServerStartedIsNotMeant) {
  add_machines(kStartNs);
  const int64_t now_ns = kStartNs + 4 * kHeartbeatNs;
  start(settings(), now_ns);
  add_machine("m00", "a", now_ns);
  const auto id = drawer_->draw_by_order(order({}, {}), now_ns, machines_);
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(kept()[0].draw.machines(), 1);
}

TEST_F(OrderTest, NeverTooManyOfTheJobThatIsMeantMeasureAtOnce) {
  DrawSettings wanted = settings();
  wanted.safety.share_of_job = 0.5;
  start(wanted, kStartNs);
  add_machines(kStartNs);
  for (int i = 0; i < 4; ++i) {
    add_machine(fmt::format("web{}", i), "a", kStartNs, {"web"});
  }
  ASSERT_TRUE(drawer_->draw_by_order(order({}, {"web"}), kStartNs, machines_));
  const auto machines = kept()[0].machines;
  EXPECT_THAT(machines, SizeIs(4));
  EXPECT_EQ(std::ranges::count_if(machines, [](const auto& machine) { return machine.window_start_ns > 0; }),
            2);
}

TEST_F(OrderTest, InstancesOfNoKnownJobAreNoJob) {
  DrawSettings wanted = settings();
  wanted.safety.share_of_job = 0.5;
  start(wanted, kStartNs);
  add_machines(kStartNs);
  for (int i = 0; i < 4; ++i) {
    add_machine(fmt::format("any{}", i), "a", kStartNs, {""});
  }
  ASSERT_TRUE(drawer_->draw_by_order(order({"any0", "any1", "any2", "any3"}, {}), kStartNs, machines_));
  EXPECT_EQ(std::ranges::count_if(kept()[0].machines,
                                  [](const auto& machine) { return machine.window_start_ns > 0; }),
            4);
  EXPECT_THAT(drawer_->draw_by_order(order({}, {""}), kStartNs, machines_).error().text(),
              HasSubstr("none of 16 live machines matches"));
  add_machine("any0", "a", kStartNs, {"", "web"});
  ASSERT_TRUE(drawer_->draw_by_order(order({}, {"web"}), kStartNs, machines_));
  EXPECT_EQ(open_store().newest(1)->front().machines.size(), 1);
}

TEST_F(OrderTest, OrdersThatCannotBeAreRefused) {
  add_machines(kStartNs);
  const auto why = [&](const MeasuringOrder& wrong) {
    const auto done = drawer_->draw_by_order(wrong, kStartNs, machines_);
    return done ? std::string() : done.error().field + ": " + done.error().text();
  };
  EXPECT_EQ(why(order({"m00"}, {})), "");
  MeasuringOrder wrong = order({}, {});
  wrong.window_ns = kLongestOrderNs + 1;
  EXPECT_THAT(why(wrong), HasSubstr("for: "));
  wrong = order({}, {});
  wrong.max_machines = 0;
  EXPECT_THAT(why(wrong), HasSubstr("max_machines: "));
  EXPECT_THAT(why(order({"m99"}, {})), HasSubstr("none of 12 live machines matches"));
  EXPECT_THAT(why(order({"m00"}, {"web"})), HasSubstr("none of 12 live machines matches"));
  ASSERT_TRUE(breaker_->stop_everything("a test", "somebody", kStartNs));
  EXPECT_THAT(why(order({"m01"}, {})), HasSubstr("collection is stopped"));
}

}  // namespace
}  // namespace plimsoll::scheduler
