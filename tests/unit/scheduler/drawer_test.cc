#include "scheduler/assignments/drawer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/time.h"
#include "scheduler/assignments/draw_method.h"
#include "store/draws/draw_outcome.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kHeartbeatNs = 5 * kSecond;
constexpr int64_t kMinute = 60 * kSecond;
// A whole number of intervals since 1970.
constexpr int64_t kStart = 1'800'000'000 * kSecond;

DrawSettings settings() {
  DrawSettings settings;
  settings.interval_ns = 10 * kMinute;
  settings.window_ns = 10 * kSecond;
  settings.grace_ns = kMinute;
  settings.heartbeat_ns = kHeartbeatNs;
  settings.size = {.fraction = 0.25, .least_of_stratum = 1};
  settings.harm = {.share_of_job = 1, .share_of_platform = 1};
  settings.strata = {"platform"};
  settings.event_sets = {{"cycles", "instructions"}};
  settings.collects.set_rate_hz(199);
  return settings;
}

// A server's draws and its machines, over simulated time.
class DrawerTest : public ::testing::Test {
 protected:
  void SetUp() override { start(settings(), kStart - kMinute); }

  // Whatever a test has done to the fleet since: all draws come out the same when they are made again.
  void TearDown() override {
    for (const auto& of_list : kept()) {
      const auto draw = open_store().draw(of_list.draw.id);
      const Status again = draw_again(**draw, machines_);
      EXPECT_TRUE(again) << again.error().text();
    }
  }

  // Begins, or begins anew as after a restart.
  void start(const DrawSettings& settings, int64_t now_ns) {
    drawer_.reset();
    brake_ = *Brake::open(open_store(), {});
    ASSERT_TRUE(machines_.note_server_start(now_ns));
    drawer_ = *Drawer::open(open_store(), open_store(), *DrawPolicy::make(settings, 42), *brake_, now_ns);
  }
  store::DrawStore open_store() {
    return *store::DrawStore::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  }

  void add_machine(const std::string& id, const std::string& platform, int64_t now_ns,
                   const std::vector<std::string>& jobs = {}, uint32_t cores = 0,
                   const std::vector<std::string>& missing_events = {}) {
    wire::Machine machine;
    machine.set_cores(cores);
    machine.set_id(id);
    machine.set_platform(platform);
    machine.set_boot_id("boot");
    ASSERT_TRUE(machines_.register_machine(machine, now_ns, kHeartbeatNs, missing_events));
    store::Census census{.machine_id = id, .taken_ns = now_ns, .interval_ns = 0, .instances = {}};
    for (const std::string& job : jobs) {
      wire::InstanceUsage& usage = census.instances.emplace_back();
      usage.set_job(job);
      usage.set_instance(job + "/1");
    }
    ASSERT_TRUE(machines_.keep_census(census));
  }
  // Eight of platform "a", four of "b".
  void add_machines(int64_t now_ns) {
    for (int i = 0; i < 12; ++i) {
      add_machine(fmt::format("m{:02}", i), i < 8 ? "a" : "b", now_ns);
    }
  }

  void draw(int64_t now_ns) { ASSERT_TRUE(drawer_->draw_if_due(now_ns, machines_)); }

  // The IDs of what the machine should be running.
  std::vector<std::string> heard_from(const std::string& machine, int64_t now_ns,
                                      const std::vector<wire::AssignmentReport>& reports = {}) {
    std::vector<std::string> ids;
    const auto assignments = drawer_->heard_from(machine, reports, now_ns);
    EXPECT_TRUE(assignments);
    for (const wire::Assignment& assignment : *assignments) {
      ids.push_back(assignment.id());
    }
    return ids;
  }
  static wire::AssignmentReport report(const std::string& id, wire::AssignmentState state,
                                       const std::string& detail = {}) {
    wire::AssignmentReport report;
    report.set_id(id);
    report.set_state(state);
    report.set_detail(detail);
    return report;
  }

  // What was kept, as another process reads it.
  std::vector<store::DrawWithMachines> kept() {
    return *store::DrawStore::open(folder_ / "draws.db", sqlite::OpenMode::kRead)->newest(1000);
  }
  // By machine.
  std::map<std::string, std::string> outcomes(const store::DrawWithMachines& draw, int64_t now_ns) {
    std::map<std::string, std::string> outcomes;
    for (const store::DrawnMachine& machine : draw.machines) {
      outcomes[machine.machine_id] = store::name_of(store::outcome_of(draw.draw, machine, now_ns));
    }
    return outcomes;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  store::LiveMachines machines_ =
      *store::LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite);
  std::unique_ptr<Brake> brake_;
  std::unique_ptr<Drawer> drawer_;
};

TEST_F(DrawerTest, DrawsFromEachStratumSomeHeartbeatsAhead) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs - 1);
  EXPECT_EQ(drawer_->next_due_ns(), kStart - 3 * kHeartbeatNs);
  EXPECT_THAT(kept(), IsEmpty());
  draw(kStart - 3 * kHeartbeatNs);
  const auto draws = kept();
  ASSERT_THAT(draws, SizeIs(1));
  const store::Draw& draw = draws[0].draw;
  EXPECT_EQ(draw.id, "fleet-" + format_time(kStart));
  EXPECT_EQ(draw.interval_start_ns, kStart);
  EXPECT_EQ(draw.interval_ns, 10 * kMinute);
  EXPECT_GE(draw.window_start_ns, kStart);
  EXPECT_LE(draw.window_start_ns + draw.window_ns, kStart + 10 * kMinute);
  EXPECT_EQ(draw.due_ns, draw.window_start_ns + draw.window_ns + kMinute);
  EXPECT_EQ(draw.policy,
            "every 10m for 10s: 25 % of the machines, by platform, 1 at least of each stratum; never "
            "more at once than 100 % of a job's instances or 100 % of a platform's machines, and daemons at "
            "most 0.01 % of the fleet's CPU time");
  ASSERT_THAT(draw.strata, SizeIs(2));
  EXPECT_EQ(draw.strata[0].name, "platform=a");
  EXPECT_EQ(draw.strata[0].machines, 8);
  EXPECT_EQ(draw.strata[0].drawn, 2);
  EXPECT_DOUBLE_EQ(draw.strata[0].drawn_weight, 8);
  EXPECT_EQ(draw.strata[1].machines, 4);
  EXPECT_EQ(draw.strata[1].drawn, 1);
  EXPECT_THAT(draws[0].machines, SizeIs(3));
  EXPECT_EQ(drawer_->next_due_ns(), kStart + 10 * kMinute - 3 * kHeartbeatNs);
}

TEST_F(DrawerTest, DrawnMachinesAreToldWhatToMeasureWhen) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const auto draw = kept()[0];
  std::set<std::string> drawn;
  for (const store::DrawnMachine& machine : draw.machines) {
    drawn.insert(machine.machine_id);
  }
  for (int i = 0; i < 12; ++i) {
    const std::string id = fmt::format("m{:02}", i);
    EXPECT_THAT(heard_from(id, kStart - 1), SizeIs(drawn.contains(id) ? 1 : 0)) << id;
  }
  const auto assignment = (*drawer_->heard_from(*drawn.begin(), {}, kStart))[0];
  EXPECT_EQ(assignment.start_ns(), draw.draw.window_start_ns);
  EXPECT_EQ(assignment.duration_ns(), 10 * kSecond);
  EXPECT_FALSE(assignment.continuous());
  EXPECT_EQ(assignment.rate_hz(), 199);
  ASSERT_EQ(assignment.events_size(), 2);
  EXPECT_EQ(assignment.events(0).name(), "cycles");
  EXPECT_EQ(assignment.draw().id(), draw.draw.id);
  EXPECT_EQ(assignment.draw().stratum(), "platform=a");
  EXPECT_EQ(assignment.draw().inclusion_probability(), 0.25);
  EXPECT_EQ(assignment.draw().interval_start_ns(), kStart);
  EXPECT_EQ(assignment.draw().interval_ns(), 10 * kMinute);
}

TEST_F(DrawerTest, OnlyWhoIsAliveIsDrawn) {
  add_machines(kStart - 4 * kHeartbeatNs);
  add_machine("silent", "c", kStart - 10 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  EXPECT_EQ(kept()[0].draw.machines(), 12);
}

TEST_F(DrawerTest, OnlyWhoCanCountTheEventsIsDrawn) {
  add_machines(kStart - 4 * kHeartbeatNs);
  add_machine("virtual", "c", kStart - 4 * kHeartbeatNs, {}, 0, {"branch-misses", "cycles"});
  add_machine("old", "c", kStart - 4 * kHeartbeatNs, {}, 0, {"branch-misses"});
  draw(kStart - 3 * kHeartbeatNs);
  EXPECT_EQ(kept()[0].draw.machines(), 13) << "all but the one without cycles";
}

TEST_F(DrawerTest, NeverTooManyOfARackMeasureAtOnce) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 1;
  wanted.harm.share_of_rack = 0.5;
  start(wanted, kStart - kMinute);
  add_machines(kStart - 4 * kHeartbeatNs);
  std::vector<store::InventoryMachine> racks;
  for (int i = 0; i < 12; ++i) {  // four in each of two racks of the same name; four whose rack nobody knows
    racks.push_back({.id = fmt::format("m{:02}", i),
                     .datacenter = i % 3 == 0 ? "ams" : "fra",
                     .rack = i % 3 == 2 ? "" : "r1"});
  }
  ASSERT_TRUE(machines_.keep_inventory(racks, kStart - 4 * kHeartbeatNs));
  draw(kStart - 3 * kHeartbeatNs);
  std::map<std::pair<int64_t, int>, int> at_once;  // by when, and which rack
  const auto draws = kept();
  for (const store::DrawnMachine& machine : draws[0].machines) {
    ++at_once[{machine.window_start_ns, std::stoi(machine.machine_id.substr(1)) % 3}];
  }
  std::vector<int> of_racks;
  for (const auto& [group, machines] : at_once) {
    if (group.second != 2) {
      of_racks.push_back(machines);
    }
  }
  EXPECT_THAT(of_racks, ElementsAre(2, 2, 2, 2)) << "two of each rack's four, twice";
}

TEST_F(DrawerTest, MachinesRestForAsLongAsIsSaid) {
  DrawSettings wanted = settings();
  wanted.cooling_ns = 25 * kMinute;
  start(wanted, kStart - kMinute);
  EXPECT_THAT(drawer_->policy().text(), HasSubstr("1 at least of each stratum, none again within 25m;"));
  std::map<std::string, int64_t> measured_until_ns;
  size_t drawn = 0;
  for (int64_t now_ns = kStart - kMinute; now_ns < kStart + 400 * kMinute; now_ns += kMinute / 4) {
    add_machines(now_ns);
    draw(now_ns);
  }
  auto draws = kept();
  std::ranges::reverse(draws);
  for (const store::DrawWithMachines& draw : draws) {
    for (const store::DrawnMachine& machine : draw.machines) {
      ++drawn;
      const auto before = measured_until_ns.find(machine.machine_id);
      if (before != measured_until_ns.end()) {
        EXPECT_GE(machine.window_start_ns - before->second, wanted.cooling_ns);
      }
      measured_until_ns[machine.machine_id] = store::window_end_ns(draw.draw, machine);
    }
  }
  EXPECT_GT(drawn, 60);
  EXPECT_THAT(measured_until_ns, SizeIs(12)) << "all have their turn";
}

MeasuringOrder order(std::vector<std::string> machines, std::vector<std::string> jobs) {
  MeasuringOrder order;
  order.by = "alice";
  order.machines = std::move(machines);
  order.jobs = std::move(jobs);
  order.collects.add_events()->set_name("cycles");
  return order;
}

TEST_F(DrawerTest, WhoIsMeantByAnOrderMeasuresSoon) {
  add_machines(kStart);
  for (int i = 0; i < 4; ++i) {
    add_machine(fmt::format("web{}", i), "a", kStart, {"web"}, 0,
                i == 3 ? std::vector<std::string>{"cycles"} : std::vector<std::string>());
  }
  MeasuringOrder two = order({}, {"web"});
  two.most_machines = 2;
  const auto id = drawer_->draw_by_order(two, kStart, machines_);
  ASSERT_TRUE(id) << id.error().text();
  const auto draw = kept()[0];
  EXPECT_EQ(draw.draw.id, "order-" + format_time(kStart + 2 * kHeartbeatNs));
  EXPECT_EQ(draw.draw.policy, "ordered by alice: 2 machines at most that run web, for 30s");
  EXPECT_EQ(draw.draw.machines(), 3) << "one of those that run it has no cycles";
  ASSERT_THAT(draw.machines, SizeIs(2));
  const std::string& chosen = draw.machines[0].machine_id;
  EXPECT_DOUBLE_EQ(draw.machines[0].inclusion_probability, 2.0 / 3);
  const auto assignments = drawer_->heard_from(chosen, {}, kStart + kHeartbeatNs);
  ASSERT_TRUE(assignments && assignments->size() == 1);
  EXPECT_EQ(assignments->front().duration_ns(), 30 * kSecond);
  EXPECT_EQ(assignments->front().start_ns(), kStart + 2 * kHeartbeatNs);
  EXPECT_EQ(assignments->front().draw().interval_ns(), 30 * kSecond);
  EXPECT_EQ(assignments->front().events(0).name(), "cycles");
  EXPECT_THAT(heard_from("m00", kStart + kHeartbeatNs), IsEmpty());
}

TEST_F(DrawerTest, OrdersAndDrawsNeverMeetAndHarmLimitsHoldForBoth) {
  DrawSettings wanted = settings();
  wanted.interval_ns = 2 * kMinute;
  wanted.harm.share_of_platform = 0.25;
  start(wanted, kStart);
  size_t orders = 0;
  for (int64_t now_ns = kStart; now_ns < kStart + 30 * kMinute; now_ns += 2 * kHeartbeatNs) {
    add_machines(now_ns);
    draw(now_ns);
    if ((now_ns - kStart) % kMinute == 0) {
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
        EXPECT_THAT(machine.detail, HasSubstr("too many of its kind"));
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

TEST_F(DrawerTest, OrdersThatCannotBeAreRefused) {
  add_machines(kStart);
  const auto why = [&](const MeasuringOrder& wrong) {
    const auto done = drawer_->draw_by_order(wrong, kStart, machines_);
    return done ? std::string() : done.error().field + ": " + done.error().text();
  };
  EXPECT_EQ(why(order({"m00"}, {})), "");
  MeasuringOrder wrong = order({}, {});
  wrong.window_ns = kLongestOrderNs + 1;
  EXPECT_THAT(why(wrong), HasSubstr("for: "));
  wrong = order({}, {});
  wrong.most_machines = 0;
  EXPECT_THAT(why(wrong), HasSubstr("most: "));
  EXPECT_THAT(why(order({"m99"}, {})), HasSubstr("none of 12 live machines is meant"));
  EXPECT_THAT(why(order({"m00"}, {"web"})), HasSubstr("none of 12 live machines is meant"));
  ASSERT_TRUE(brake_->stop_everything("a test", "somebody", kStart));
  EXPECT_THAT(why(order({"m01"}, {})), HasSubstr("everything is stopped"));
}

TEST_F(DrawerTest, RareJobsAreSeenMoreOften) {
  DrawSettings wanted = settings();
  wanted.size.least_of_job = 2;
  start(wanted, kStart - kMinute);
  add_machines(kStart - 4 * kHeartbeatNs);
  add_machine("x1", "a", kStart - 4 * kHeartbeatNs, {"rare", "common"});
  add_machine("x2", "b", kStart - 4 * kHeartbeatNs, {"rare"});
  draw(kStart - 3 * kHeartbeatNs);
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
  start(wanted, kStart - kMinute);
  std::multiset<std::string> events;
  for (int64_t interval = 0; interval < 6; ++interval) {
    const int64_t now_ns = kStart + interval * 10 * kMinute - 3 * kHeartbeatNs;
    add_machines(now_ns);
    draw(now_ns);
  }
  const auto draws = kept();
  for (const store::DrawWithMachines& draw : draws) {
    events.insert(draw.draw.collects.events().empty() ? "" : draw.draw.collects.events(0).name());
  }
  EXPECT_THAT(events, ElementsAre("", "", "cache-misses", "cache-misses", "cycles", "cycles"));
}

TEST_F(DrawerTest, WhatBecomesOfEachMachineIsNoted) {
  DrawSettings everybody = settings();
  everybody.size.fraction = 1;
  start(everybody, kStart - kMinute);
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const store::Draw draw = kept()[0].draw;
  const int64_t end_ns = draw.window_start_ns + draw.window_ns;
  for (int i = 1; i < 12; ++i) {  // m00 is never heard of
    EXPECT_THAT(heard_from(fmt::format("m{:02}", i), kStart - 1), ElementsAre(draw.id));
  }
  EXPECT_THAT(heard_from("m02", kStart, {report(draw.id, wire::REFUSED, "limits.max_window")}), IsEmpty());
  EXPECT_THAT(heard_from("m03", kStart, {report(draw.id, wire::FAILED, "no PMU")}), IsEmpty());
  EXPECT_THAT(heard_from("m04", end_ns - 1, {report(draw.id, wire::RUNNING)}), ElementsAre(draw.id));
  EXPECT_THAT(heard_from("m05", end_ns - 1, {report(draw.id, wire::RUNNING)}), ElementsAre(draw.id));
  EXPECT_THAT(heard_from("m05", end_ns + 1, {report(draw.id, wire::RUNNING)}), ElementsAre(draw.id));
  EXPECT_THAT(heard_from("m06", end_ns + 1, {report(draw.id, wire::DONE)}), IsEmpty());
  const auto answer = [&](const std::string& machine, int64_t window_ns, int64_t now_ns,
                          bool is_known = false) {
    ASSERT_TRUE(drawer_->answered(draw.id, machine, window_ns, is_known, now_ns));
  };
  answer("m07", 10 * kSecond, end_ns + 1);
  answer("m08", 4 * kSecond, end_ns + 1);
  answer("m09", 4 * kSecond, end_ns + 1);
  answer("m09", 6 * kSecond, end_ns + 2);
  answer("m10", 5 * kSecond, end_ns + 1);
  answer("m10", 5 * kSecond, end_ns + 2, true);  // the same upload again
  answer("m11", 10 * kSecond, draw.due_ns + 1);
  answer("m01", 10 * kSecond, end_ns, true);  // accepted before a crash, noted after it
  answer("was not drawn", 1, end_ns);
  EXPECT_THAT(
      outcomes(kept()[0], draw.due_ns),
      (ElementsAre(std::pair("m00", "unreached"), std::pair("m01", "answered"), std::pair("m02", "refused"),
                   std::pair("m03", "failed"), std::pair("m04", "vanished"), std::pair("m05", "lost"),
                   std::pair("m06", "lost"), std::pair("m07", "answered"), std::pair("m08", "partial"),
                   std::pair("m09", "answered"), std::pair("m10", "partial"), std::pair("m11", "late"))));
}

// What crashed while it measured would crash again; what was started anew before has lost nothing.
TEST_F(DrawerTest, ADaemonThatHasForgottenWhatItMeasuresIsNotToldAgain) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  const std::string& id = machines[0].machine_id;
  EXPECT_THAT(heard_from(id, kStart - 2), SizeIs(1));
  EXPECT_THAT(heard_from(id, kStart - 1), SizeIs(1)) << "without a report, and before its window";
  EXPECT_THAT(heard_from(id, draw.window_start_ns + 1, {report(draw.id, wire::RUNNING)}), SizeIs(1));
  EXPECT_THAT(heard_from(id, draw.window_start_ns + 2), IsEmpty());
  EXPECT_THAT(heard_from(id, draw.window_start_ns + 3), IsEmpty());
  EXPECT_EQ(outcomes(kept()[0], draw.window_start_ns + 3)[id], "failed");
}

TEST_F(DrawerTest, WhoeverComesAfterTheWindowIsNotToldAnyMore) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  const int64_t end_ns = draw.window_start_ns + draw.window_ns;
  EXPECT_THAT(heard_from(machines[0].machine_id, end_ns - 1), SizeIs(1));
  EXPECT_THAT(heard_from(machines[1].machine_id, end_ns), IsEmpty());
  EXPECT_EQ(outcomes(kept()[0], draw.due_ns)[machines[1].machine_id], "unreached");
}

// Six of eight machines are drawn, and two may measure at once.
TEST_F(DrawerTest, WhoFindsNoRoomMeasuresLaterInTheInterval) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 0.75;
  wanted.harm.share_of_platform = 0.25;
  start(wanted, kStart - kMinute);
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  std::map<int64_t, std::map<uint32_t, int>> at_once;  // machines by window and stratum
  int64_t last_ns = 0;
  for (const store::DrawnMachine& machine : machines) {
    ++at_once[machine.window_start_ns][machine.stratum];
    EXPECT_GE(machine.window_start_ns, kStart);
    EXPECT_LE(machine.window_start_ns + draw.window_ns, kStart + 10 * kMinute);
    last_ns = std::max(last_ns, machine.window_start_ns);
    EXPECT_EQ((*drawer_->heard_from(machine.machine_id, {}, kStart - 1))[0].start_ns(),
              machine.window_start_ns);
  }
  ASSERT_THAT(at_once, SizeIs(3));
  EXPECT_THAT(at_once[draw.window_start_ns], ElementsAre(std::pair(0, 2), std::pair(1, 1)));
  int64_t previous_ns = 0;
  for (const auto& [start_ns, strata] : at_once) {
    EXPECT_EQ(strata.at(0), 2);
    EXPECT_EQ(strata.at(1), 1);
    EXPECT_GT(start_ns, previous_ns + draw.window_ns);
    previous_ns = start_ns;
  }
  EXPECT_EQ(draw.due_ns, last_ns + draw.window_ns + kMinute);
}

TEST_F(DrawerTest, WhoFindsNoRoomAtAllIsWithheld) {
  DrawSettings wanted = settings();
  wanted.window_ns = 5 * kMinute;  // one turn, or two
  wanted.size.fraction = 1;
  wanted.harm.share_of_job = 0.1;
  start(wanted, kStart - kMinute);
  for (int i = 0; i < 5; ++i) {
    add_machine(fmt::format("m{}", i), "a", kStart - 4 * kHeartbeatNs, {"db", "db"});
  }
  draw(kStart - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  size_t withheld = 0;
  for (const store::DrawnMachine& machine : machines) {
    const bool is_withheld = machine.window_start_ns == 0;
    withheld += is_withheld;
    EXPECT_THAT(heard_from(machine.machine_id, kStart - 1), SizeIs(is_withheld ? 0 : 1));
  }
  EXPECT_GE(withheld, 3);
  EXPECT_LE(withheld, 4) << "one always may";
}

// Forty machines of two CPUs, of which half are drawn each time. Their daemons take 4 s of CPU time for a window, and 0.2 ms in a second
// anyway: the 48 s that they may take in ten minutes are enough for eleven, almost.
TEST_F(DrawerTest, AsManyMeasureAsTheFleetCanAfford) {
  constexpr int kMachines = 40;
  constexpr int kDraws = 30;
  DrawSettings wanted = settings();
  wanted.size.fraction = 0.5;
  wanted.harm.share_of_cpu = 0.001;
  start(wanted, kStart - kMinute);
  std::map<std::string, int64_t> cpu_time_ns;
  for (int i = 0; i < kMachines; ++i) {
    const std::string id = fmt::format("m{:02}", i);
    add_machine(id, "a", kStart - 4 * kHeartbeatNs, {}, 2);
    cpu_time_ns[id] = 7 * kSecond;  // it has been at work for a while
    drawer_->note_cost(id, cpu_time_ns[id], kStart - 4 * kHeartbeatNs);
  }
  std::vector<size_t> measured;
  for (int64_t interval_ns = kStart; interval_ns < kStart + kDraws * 10 * kMinute;
       interval_ns += 10 * kMinute) {
    draw(interval_ns - 3 * kHeartbeatNs);
    measured.push_back(0);
    const store::DrawWithMachines made = kept()[0];
    for (const store::DrawnMachine& machine : made.machines) {
      const bool measures =
          std::ranges::count(heard_from(machine.machine_id, interval_ns - 1), made.draw.id) > 0;
      EXPECT_EQ(machine.detail.empty(), measures);
      measured.back() += measures;
      if (measures) {
        cpu_time_ns[machine.machine_id] += 4 * kSecond;
        ASSERT_TRUE(drawer_->answered(made.draw.id, machine.machine_id, made.draw.window_ns, false,
                                      made.draw.window_start_ns + made.draw.window_ns));
      }
    }
    for (auto& [id, ns] : cpu_time_ns) {
      const int64_t next_ns = interval_ns + 10 * kMinute - 4 * kHeartbeatNs;
      ns += kMinute / 500;
      ASSERT_TRUE(*machines_.machine_seen(id, "boot", next_ns, kHeartbeatNs));
      drawer_->note_cost(id, ns, next_ns);
    }
  }
  EXPECT_EQ(measured.front(), 20) << "nothing is known of the cost yet";
  const std::span<const size_t> later = std::span(measured).subspan(kDraws / 2);
  const double mean = static_cast<double>(std::accumulate(later.begin(), later.end(), size_t{0})) /
                      static_cast<double>(later.size());
  EXPECT_GE(mean, 10.3);
  EXPECT_LE(mean, 11.3);
  EXPECT_THAT(kept()[0].machines,
              Contains(Field(&store::DrawnMachine::detail,
                             HasSubstr("% of the fleet's CPU time, would take over 0.1 %"))));
}

TEST_F(DrawerTest, OneMachineMeasuresHoweverMuchItCosts) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 1;
  start(wanted, kStart - kMinute);
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const store::Draw first = kept()[0].draw;
  const int64_t next_ns = kStart + 10 * kMinute;
  for (int i = 0; i < 12; ++i) {
    const std::string id = fmt::format("m{:02}", i);
    EXPECT_THAT(heard_from(id, kStart - 1), SizeIs(1));
    ASSERT_TRUE(drawer_->answered(first.id, id, first.window_ns, false, next_ns - 5 * kHeartbeatNs));
    drawer_->note_cost(id, kSecond, kStart - 1);
    drawer_->note_cost(id, 5 * kMinute, next_ns - 4 * kHeartbeatNs);
    ASSERT_TRUE(*machines_.machine_seen(id, "boot", next_ns - 4 * kHeartbeatNs, kHeartbeatNs));
  }
  draw(next_ns - 3 * kHeartbeatNs);
  const std::vector<store::DrawWithMachines> draws = kept();
  ASSERT_THAT(draws, SizeIs(2));
  EXPECT_EQ(std::ranges::count_if(draws[0].machines,
                                  [](const auto& machine) { return machine.window_start_ns > 0; }),
            1);
}

TEST_F(DrawerTest, ARestartGoesOnWithTheSameDraw) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  const auto [before, machines] = kept()[0];
  EXPECT_THAT(heard_from(machines[0].machine_id, kStart - 1), ElementsAre(before.id));
  start(settings(), kStart);
  draw(kStart);
  EXPECT_THAT(kept(), SizeIs(1));
  EXPECT_THAT(heard_from(machines[0].machine_id, kStart), ElementsAre(before.id));
  EXPECT_THAT(heard_from(machines[1].machine_id, kStart), ElementsAre(before.id));
  ASSERT_TRUE(drawer_->answered(before.id, machines[1].machine_id, 10 * kSecond, false, before.due_ns - 1));
  EXPECT_EQ(outcomes(kept()[0], before.due_ns)[machines[1].machine_id], "answered");
}

// Its machines come back one by one, as their pauses end: until then those that lived when it went count as alive.
TEST_F(DrawerTest, AServerThatWasAwayDrawsFromTheFleetThatItKnew) {
  add_machines(kStart - 4 * kHeartbeatNs);
  add_machine("dead before", "c", kStart - 20 * kHeartbeatNs);
  const int64_t back_ns = kStart + 40 * kMinute - 4 * kHeartbeatNs;
  start(settings(), back_ns);
  add_machine("m03", "a", back_ns + kSecond);
  draw(back_ns + kSecond);
  EXPECT_THAT(kept(), IsEmpty()) << "three heartbeats of a server's life are for being heard of";
  draw(drawer_->next_due_ns());
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].draw.machines(), 12);
  const int64_t later_ns = kStart + 50 * kMinute - 3 * kHeartbeatNs;
  add_machine("m03", "a", later_ns);
  draw(later_ns);
  EXPECT_EQ(kept()[0].draw.machines(), 1) << "by now whoever lives has been heard of";
}

TEST_F(DrawerTest, WhoeverIsDrawnCanHearOfItInTimeOrNobodyIsDrawn) {
  add_machines(kStart + 9 * kMinute);
  start(settings(), kStart + 9 * kMinute);
  // Whatever the window, it is over, or one heartbeat away at most.
  draw(kStart + 10 * kMinute - kHeartbeatNs - 11 * kSecond);
  draw(kStart + 10 * kMinute - 3 * kHeartbeatNs - 1);
  EXPECT_THAT(kept(), IsEmpty());
  add_machines(kStart + 10 * kMinute - 4 * kHeartbeatNs);
  draw(kStart + 10 * kMinute - 3 * kHeartbeatNs);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(DrawerTest, NoTwoDrawsSpeakForTheSameTime) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  DrawSettings shorter = settings();
  shorter.interval_ns = 4 * kMinute;
  start(shorter, kStart + kMinute);
  for (int64_t now_ns = kStart + kMinute; now_ns < kStart + 20 * kMinute; now_ns += kHeartbeatNs) {
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
  draw(kStart - 3 * kHeartbeatNs);
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_EQ(drawer_->next_due_ns(), kStart - 2 * kHeartbeatNs);
  add_machine("m1", "a", kStart - 2 * kHeartbeatNs);
  draw(kStart - 2 * kHeartbeatNs);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(DrawerTest, ADrawThatIsNotByChanceIsFound) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
  add_machine("m99", "a", kStart, {"db"});  // and the fleet is another by now
  const auto draw = **open_store().draw(kept()[0].draw.id);
  ASSERT_TRUE(draw_again(draw, machines_));
  const auto complaint = [&](const auto& change) {
    store::DrawWithMachines changed = draw;
    change(changed);
    const Status again = draw_again(changed, machines_);
    return again ? "" : again.error().text();
  };
  EXPECT_THAT(complaint([](auto& d) { d.machines[0].machine_id = "m99"; }),
              HasSubstr("comes out otherwise when it is made again, in 2 places: machine m"));
  EXPECT_THAT(complaint([](auto& d) { d.machines[0].inclusion_probability = 0.5; }),
              HasSubstr("drawn with probability 0.5, from platform=a, now drawn with probability 0.25"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.strata[1].machines = 5; }),
              HasSubstr("stratum platform=b: 1 of 5 machines (1 expected), now 1 of 4 machines"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.seed += 1; }), HasSubstr("not there"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.made_ns = kStart; }), HasSubstr("now 1 of 1 machines"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.method.reset(); }), HasSubstr("did not keep how"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.method->set_turn(1); }), HasSubstr("no turn 1 of 1"));
  EXPECT_THAT(complaint([](auto& d) { d.draw.method->add_strata("color"); }), HasSubstr("color"));
  EXPECT_THAT(complaint([](auto& d) { d.machines.clear(); }), HasSubstr("is not kept any more"));
}

TEST_F(DrawerTest, NobodyWeighsHimself) {
  add_machines(kStart - 4 * kHeartbeatNs);
  draw(kStart - 3 * kHeartbeatNs);
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
  EXPECT_EQ(forged([](auto& p) { p.mutable_assignment()->mutable_draw()->set_interval_ns(kMinute * 1'000); }),
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
  EXPECT_EQ(moved(-kMinute, 0), "") << "clocks differ";
  EXPECT_EQ(moved(0, kMinute), "");
  EXPECT_EQ(moved(-kMinute - 1, 0), "window");
  EXPECT_EQ(moved(0, kMinute + 1), "window");
}

TEST(DrawPolicy, RefusesWhatMakesNoSense) {
  const auto field = [](const auto& change) {
    DrawSettings changed = settings();
    change(changed);
    const auto policy = DrawPolicy::make(changed, 1);
    return policy ? std::string() : policy.error().field;
  };
  EXPECT_EQ(field([](auto&) {}), "");
  EXPECT_EQ(field([](auto& s) { s.interval_ns = kSecond / 2; }), "interval");
  EXPECT_EQ(field([](auto& s) { s.window_ns = 11 * kMinute; }), "window");
  EXPECT_EQ(field([](auto& s) { s.size.fraction = 0; }), "fraction");
  EXPECT_EQ(field([](auto& s) { s.size.least_of_stratum = 0; }), "least_of_stratum");
  EXPECT_EQ(field([](auto& s) { s.cooling_ns = -1; }), "cooling");
  EXPECT_EQ(field([](auto& s) { s.strata = {"weather"}; }), "strata");
  EXPECT_EQ(field([](auto& s) { s.harm.share_of_job = 0; }), "share_of_job");
  EXPECT_EQ(field([](auto& s) { s.harm.share_of_platform = 1.5; }), "share_of_platform");
  EXPECT_EQ(field([](auto& s) { s.harm.share_of_cpu = 0; }), "share_of_cpu");
}

TEST(DrawPolicy, SaysWhatItIs) {
  DrawSettings wanted = settings();
  wanted.strata = {"platform", "datacenter"};
  wanted.harm.share_of_job = 0.05;
  wanted.size = {.machines = 40, .least_of_stratum = 2, .least_of_job = 3};
  EXPECT_EQ(
      DrawPolicy::make(wanted, 1)->text(),
      "every 10m for 10s: 40 machines, by platform and datacenter, 2 at least of each stratum, 3 at least "
      "that run each job; never more at once than 5 % of a job's instances or 100 % of a platform's "
      "machines, and daemons at most 0.01 % of the fleet's CPU time");
  wanted.strata = {};
  wanted.size = {.fraction = 0.001, .least_of_stratum = 1};
  EXPECT_THAT(DrawPolicy::make(wanted, 1)->text(), HasSubstr("0.1 % of the machines, 1 at least of each"));
}

}  // namespace
}  // namespace plimsoll::scheduler
