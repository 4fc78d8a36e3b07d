#include "scheduler/assignments/drawer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/scheduler/drawer_fixture.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using DrawerTest = DrawerFixture;

TEST_F(DrawerTest, DrawsFromEachStratumSomeHeartbeatsAhead) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs - 1);
  EXPECT_EQ(drawer_->next_due_ns(), kStartNs - 3 * kHeartbeatNs);
  EXPECT_THAT(kept(), IsEmpty());
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto draws = kept();
  ASSERT_THAT(draws, SizeIs(1));
  const store::Draw& draw = draws[0].draw;
  EXPECT_EQ(draw.id, "fleet-" + format_time(kStartNs));
  EXPECT_EQ(draw.interval_start_ns, kStartNs);
  EXPECT_EQ(draw.interval_ns, 10 * kNsPerMinute);
  EXPECT_GE(draw.window_start_ns, kStartNs);
  EXPECT_LE(draw.window_start_ns + draw.window_ns, kStartNs + 10 * kNsPerMinute);
  EXPECT_EQ(draw.due_ns, draw.window_start_ns + draw.window_ns + kNsPerMinute);
  EXPECT_EQ(
      draw.policy,
      "every 10m for 10s: 25 % of the machines, by platform, min 1 per stratum; max at once 100 % of a job's "
      "instances and 100 % of a platform's machines; max overhead 0.01 % of the fleet's CPU time");
  ASSERT_THAT(draw.strata, SizeIs(2));
  EXPECT_EQ(draw.strata[0].name, "platform=a");
  EXPECT_EQ(draw.strata[0].machines, 8);
  EXPECT_EQ(draw.strata[0].drawn, 2);
  EXPECT_DOUBLE_EQ(draw.strata[0].drawn_weight, 8);
  EXPECT_EQ(draw.strata[1].machines, 4);
  EXPECT_EQ(draw.strata[1].drawn, 1);
  EXPECT_THAT(draws[0].machines, SizeIs(3));
  EXPECT_EQ(drawer_->next_due_ns(), kStartNs + 10 * kNsPerMinute - 3 * kHeartbeatNs);
}

TEST_F(DrawerTest, DrawnMachinesAreToldWhatToMeasureWhen) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto draw = kept()[0];
  std::set<std::string> drawn;
  for (const store::DrawnMachine& machine : draw.machines) {
    drawn.insert(machine.machine_id);
  }
  for (int i = 0; i < 12; ++i) {
    const std::string id = fmt::format("m{:02}", i);
    EXPECT_THAT(heard_from(id, kStartNs - 1), SizeIs(drawn.contains(id) ? 1 : 0)) << id;
  }
  const auto assignment = (*drawer_->heard_from(*drawn.begin(), {}, kStartNs))[0];
  EXPECT_EQ(assignment.start_ns(), draw.draw.window_start_ns);
  EXPECT_EQ(assignment.duration_ns(), 10 * kNsPerSecond);
  EXPECT_FALSE(assignment.continuous());
  EXPECT_EQ(assignment.rate_hz(), 199);
  ASSERT_EQ(assignment.events_size(), 2);
  EXPECT_EQ(assignment.events(0).name(), "cycles");
  EXPECT_EQ(assignment.draw().id(), draw.draw.id);
  EXPECT_EQ(assignment.draw().stratum(), "platform=a");
  EXPECT_EQ(assignment.draw().inclusion_probability(), 0.25);
  EXPECT_EQ(assignment.draw().interval_start_ns(), kStartNs);
  EXPECT_EQ(assignment.draw().interval_ns(), 10 * kNsPerMinute);
}

TEST_F(DrawerTest, OnlyWhoIsAliveIsDrawn) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  add_machine("silent", "c", kStartNs - 10 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  EXPECT_EQ(kept()[0].draw.machines(), 12);
}

TEST_F(DrawerTest, OnlyWhoCanCountTheEventsIsDrawn) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  add_machine("virtual", "c", kStartNs - 4 * kHeartbeatNs, {}, 0, {"branch-misses", "cycles"});
  add_machine("old", "c", kStartNs - 4 * kHeartbeatNs, {}, 0, {"branch-misses"});
  draw(kStartNs - 3 * kHeartbeatNs);
  EXPECT_EQ(kept()[0].draw.machines(), 13) << "all but the one without cycles";
}

TEST_F(DrawerTest, RareJobsAreSeenMoreOften) {
  DrawSettings wanted = settings();
  wanted.size.min_per_job = 2;
  start(wanted, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  add_machine("x1", "a", kStartNs - 4 * kHeartbeatNs, {"rare", "common"});
  add_machine("x2", "b", kStartNs - 4 * kHeartbeatNs, {"rare"});
  draw(kStartNs - 3 * kHeartbeatNs);
  std::map<std::string, double> probabilities;
  const auto draws = kept();
  for (const store::DrawnMachine& machine : draws[0].machines) {
    probabilities[machine.machine_id] = machine.inclusion_probability;
  }
  EXPECT_EQ(probabilities["x1"], 1);
  EXPECT_EQ(probabilities["x2"], 1);
}

TEST_F(DrawerTest, SetsOfEventsTakeTurns) {
  DrawSettings wanted = settings();
  wanted.event_sets = {{"cycles"}, {"cache-misses"}, {}};
  start(wanted, kStartNs - kNsPerMinute);
  std::multiset<std::string> events;
  for (int64_t interval = 0; interval < 6; ++interval) {
    const int64_t now_ns = kStartNs + interval * 10 * kNsPerMinute - 3 * kHeartbeatNs;
    add_machines(now_ns);
    draw(now_ns);
  }
  const auto draws = kept();
  for (const store::DrawWithMachines& draw : draws) {
    events.insert(draw.draw.collects.events().empty() ? "" : draw.draw.collects.events(0).name());
  }
  EXPECT_THAT(events, ElementsAre("", "", "cache-misses", "cache-misses", "cycles", "cycles"));
}

TEST_F(DrawerTest, AnsweredKindsOfApplicationsAreKept) {
  DrawSettings everybody = settings();
  everybody.size.fraction = 1;
  start(everybody, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const store::Draw draw = kept()[0].draw;
  const int64_t end_ns = draw.window_start_ns + draw.window_ns;
  EXPECT_THAT(heard_from("m02", kStartNs - 1), SizeIs(1));
  wire::AssignmentReport done = report(draw.id, wire::DONE);
  wire::ApplicationKindReport& heap = *done.add_application_kinds();
  heap.set_kind("heap");
  heap.set_endpoints(4);
  heap.set_answered(3);
  EXPECT_THAT(heard_from("m02", end_ns + 1, {done}), IsEmpty());
  EXPECT_THAT(heard_from("m02", end_ns + 2, {done}), IsEmpty());
  const auto draws = kept();
  for (const store::DrawnMachine& machine : draws[0].machines) {
    ASSERT_EQ(machine.kinds.size(), machine.machine_id == "m02" ? 1 : 0) << machine.machine_id;
    if (!machine.kinds.empty()) {
      EXPECT_EQ(machine.kinds[0].answered(), 3);
    }
  }
}

TEST_F(DrawerTest, WhatBecomesOfEachMachineIsNoted) {
  DrawSettings everybody = settings();
  everybody.size.fraction = 1;
  start(everybody, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const store::Draw draw = kept()[0].draw;
  const int64_t end_ns = draw.window_start_ns + draw.window_ns;
  for (int i = 1; i < 12; ++i) {  // m00 is never heard of
    EXPECT_THAT(heard_from(fmt::format("m{:02}", i), kStartNs - 1), ElementsAre(draw.id));
  }
  EXPECT_THAT(heard_from("m02", kStartNs, {report(draw.id, wire::REFUSED, "limits.max_window")}), IsEmpty());
  EXPECT_THAT(heard_from("m03", kStartNs, {report(draw.id, wire::FAILED, "no PMU")}), IsEmpty());
  EXPECT_THAT(heard_from("m04", end_ns - 1, {report(draw.id, wire::RUNNING)}), ElementsAre(draw.id));
  EXPECT_THAT(heard_from("m05", end_ns - 1, {report(draw.id, wire::RUNNING)}), ElementsAre(draw.id));
  EXPECT_THAT(heard_from("m05", end_ns + 1, {report(draw.id, wire::RUNNING)}), ElementsAre(draw.id));
  EXPECT_THAT(heard_from("m06", end_ns + 1, {report(draw.id, wire::DONE)}), IsEmpty());
  const auto answer = [&](const std::string& machine, int64_t window_ns, int64_t now_ns,
                          bool is_known = false) {
    ASSERT_TRUE(drawer_->answered(draw.id, machine, window_ns, is_known, now_ns));
  };
  answer("m07", 10 * kNsPerSecond, end_ns + 1);
  answer("m08", 4 * kNsPerSecond, end_ns + 1);
  answer("m09", 4 * kNsPerSecond, end_ns + 1);
  answer("m09", 6 * kNsPerSecond, end_ns + 2);
  answer("m10", 5 * kNsPerSecond, end_ns + 1);
  answer("m10", 5 * kNsPerSecond, end_ns + 2, true);  // the same upload again
  answer("m11", 10 * kNsPerSecond, draw.due_ns + 1);
  answer("m01", 10 * kNsPerSecond, end_ns, true);  // accepted before a crash, noted after it
  answer("was not drawn", 1, end_ns);
  EXPECT_THAT(
      outcomes(kept()[0], draw.due_ns),
      (ElementsAre(std::pair("m00", "unreached"), std::pair("m01", "answered"), std::pair("m02", "refused"),
                   std::pair("m03", "failed"), std::pair("m04", "vanished"), std::pair("m05", "lost"),
                   std::pair("m06", "lost"), std::pair("m07", "answered"), std::pair("m08", "partial"),
                   std::pair("m09", "answered"), std::pair("m10", "partial"), std::pair("m11", "late"))));
}

// What crashed while it measured would crash again; what was restarted before has lost nothing.
TEST_F(DrawerTest, ADaemonThatHasForgottenWhatItMeasuresIsNotToldAgain) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  const std::string& id = machines[0].machine_id;
  EXPECT_THAT(heard_from(id, kStartNs - 2), SizeIs(1));
  EXPECT_THAT(heard_from(id, kStartNs - 1), SizeIs(1)) << "without a report, and before its window";
  EXPECT_THAT(heard_from(id, draw.window_start_ns + 1, {report(draw.id, wire::RUNNING)}), SizeIs(1));
  EXPECT_THAT(heard_from(id, draw.window_start_ns + 2), IsEmpty());
  EXPECT_THAT(heard_from(id, draw.window_start_ns + 3), IsEmpty());
  EXPECT_EQ(outcomes(kept()[0], draw.window_start_ns + 3)[id], "failed");
}

TEST_F(DrawerTest, WhoeverComesAfterTheWindowIsNotToldAnyMore) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  const int64_t end_ns = draw.window_start_ns + draw.window_ns;
  EXPECT_THAT(heard_from(machines[0].machine_id, end_ns - 1), SizeIs(1));
  EXPECT_THAT(heard_from(machines[1].machine_id, end_ns), IsEmpty());
  EXPECT_EQ(outcomes(kept()[0], draw.due_ns)[machines[1].machine_id], "unreached");
}

TEST_F(DrawerTest, ARestartGoesOnWithTheSameDraw) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto [before, machines] = kept()[0];
  EXPECT_THAT(heard_from(machines[0].machine_id, kStartNs - 1), ElementsAre(before.id));
  start(settings(), kStartNs);
  draw(kStartNs);
  EXPECT_THAT(kept(), SizeIs(1));
  EXPECT_THAT(heard_from(machines[0].machine_id, kStartNs), ElementsAre(before.id));
  EXPECT_THAT(heard_from(machines[1].machine_id, kStartNs), ElementsAre(before.id));
  ASSERT_TRUE(
      drawer_->answered(before.id, machines[1].machine_id, 10 * kNsPerSecond, false, before.due_ns - 1));
  EXPECT_EQ(outcomes(kept()[0], before.due_ns)[machines[1].machine_id], "answered");
}

// Its machines come back one by one, as their pauses end: until then those that lived when it went count as alive.
TEST_F(DrawerTest, AServerThatWasAwayDrawsFromTheFleetThatItKnew) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  add_machine("dead before", "c", kStartNs - 20 * kHeartbeatNs);
  const int64_t back_ns = kStartNs + 40 * kNsPerMinute - 4 * kHeartbeatNs;
  start(settings(), back_ns);
  add_machine("m03", "a", back_ns + kNsPerSecond);
  draw(back_ns + kNsPerSecond);
  EXPECT_THAT(kept(), IsEmpty()) << "three heartbeats of a server's life are for being heard of";
  draw(drawer_->next_due_ns());
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].draw.machines(), 12);
  const int64_t later_ns = kStartNs + 50 * kNsPerMinute - 3 * kHeartbeatNs;
  add_machine("m03", "a", later_ns);
  draw(later_ns);
  EXPECT_EQ(kept()[0].draw.machines(), 1) << "by now whoever lives has been heard of";
}

TEST_F(DrawerTest, WhoeverIsDrawnCanHearOfItInTimeOrNobodyIsDrawn) {
  add_machines(kStartNs + 9 * kNsPerMinute);
  start(settings(), kStartNs + 9 * kNsPerMinute);
  // Whatever the window, it is over, or one heartbeat away at most.
  draw(kStartNs + 10 * kNsPerMinute - kHeartbeatNs - 11 * kNsPerSecond);
  draw(kStartNs + 10 * kNsPerMinute - 3 * kHeartbeatNs - 1);
  EXPECT_THAT(kept(), IsEmpty());
  add_machines(kStartNs + 10 * kNsPerMinute - 4 * kHeartbeatNs);
  draw(kStartNs + 10 * kNsPerMinute - 3 * kHeartbeatNs);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(DrawerTest, NoTwoDrawsSpeakForTheSameTime) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  DrawSettings shorter = settings();
  shorter.interval_ns = 4 * kNsPerMinute;
  start(shorter, kStartNs + kNsPerMinute);
  for (int64_t now_ns = kStartNs + kNsPerMinute; now_ns < kStartNs + 20 * kNsPerMinute;
       now_ns += kHeartbeatNs) {
    add_machines(now_ns);
    draw(now_ns);
  }
  int64_t end_ns = INT64_MAX;
  const auto draws = kept();
  EXPECT_GE(draws.size(), 3);
  for (const store::DrawWithMachines& draw : draws) {  // the newest first
    EXPECT_LE(draw.draw.interval_start_ns + draw.draw.interval_ns, end_ns);
    end_ns = draw.draw.interval_start_ns;
  }
}

TEST_F(DrawerTest, AFleetWithoutMachinesIsTriedAgain) {
  draw(kStartNs - 3 * kHeartbeatNs);
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_EQ(drawer_->next_due_ns(), kStartNs - 2 * kHeartbeatNs);
  add_machine("m1", "a", kStartNs - 2 * kHeartbeatNs);
  draw(kStartNs - 2 * kHeartbeatNs);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(DrawerTest, WhatCannotBeJudgedIsTriedAgainAHeartbeatLater) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const int64_t due_ns = kept()[0].draw.due_ns;
  auto database = *sqlite::Database::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(database.run("ALTER TABLE drawn_machine RENAME TO gone"));
  EXPECT_FALSE(drawer_->draw_if_due(due_ns, machines_));
  EXPECT_EQ(drawer_->next_due_ns(), due_ns + kHeartbeatNs);
  ASSERT_TRUE(database.run("ALTER TABLE gone RENAME TO drawn_machine"));
  EXPECT_TRUE(drawer_->draw_if_due(due_ns + kHeartbeatNs, machines_));
}

TEST_F(DrawerTest, NobodyWeighsHimself) {
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  wire::RawProfile profile;
  EXPECT_TRUE(drawer_->check(profile)) << "of no draw";
  profile.mutable_machine()->set_id(machines[0].machine_id);
  *profile.mutable_assignment()->mutable_draw() = store::wire_draw(draw, machines[0]);
  profile.mutable_window()->mutable_start()->set_wall_ns(draw.interval_start_ns);
  profile.mutable_window()->mutable_end()->set_wall_ns(draw.interval_start_ns + draw.interval_ns);
  EXPECT_TRUE(drawer_->check(profile));
  const auto forged = [&](const auto& change) {
    wire::RawProfile other = profile;
    change(other);
    const Status checked = drawer_->check(other);
    return checked ? std::string() : checked.error().field;
  };
  EXPECT_EQ(forged([](auto& p) { p.mutable_machine()->set_id("m99"); }), "assignment.draw");
  EXPECT_EQ(forged([](auto& p) { p.mutable_assignment()->mutable_draw()->set_id("mine"); }),
            "assignment.draw");
  EXPECT_EQ(forged([](auto& p) { p.mutable_assignment()->mutable_draw()->set_inclusion_probability(1e-6); }),
            "assignment.draw");
  EXPECT_EQ(
      forged([](auto& p) { p.mutable_assignment()->mutable_draw()->set_interval_ns(kNsPerMinute * 1'000); }),
      "assignment.draw");
  EXPECT_EQ(forged([](auto& p) { p.mutable_assignment()->mutable_draw()->set_stratum("platform=b"); }),
            "assignment.draw");
  const auto moved = [&](int64_t start_by_ns, int64_t end_by_ns) {
    return forged([&](auto& p) {
      wire::Window& window = *p.mutable_window();
      window.mutable_start()->set_wall_ns(window.start().wall_ns() + start_by_ns);
      window.mutable_end()->set_wall_ns(window.end().wall_ns() + end_by_ns);
    });
  };
  EXPECT_EQ(moved(-kNsPerMinute, 0), "") << "clocks differ";
  EXPECT_EQ(moved(0, kNsPerMinute), "");
  EXPECT_EQ(moved(-kNsPerMinute - 1, 0), "window");
  EXPECT_EQ(moved(0, kNsPerMinute + 1), "window");
}

}  // namespace
}  // namespace plimsoll::scheduler
