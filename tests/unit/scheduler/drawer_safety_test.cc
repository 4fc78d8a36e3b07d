#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "scheduler/assignments/drawer.h"
#include "tests/unit/scheduler/drawer_fixture.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using DrawerSafetyTest = DrawerFixture;

TEST_F(DrawerSafetyTest, NeverTooManyOfARackMeasureAtOnce) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 1;
  wanted.safety.share_of_rack = 0.5;
  start(wanted, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  std::vector<store::InventoryMachine> racks;
  for (int i = 0; i < 12; ++i) {  // four in each of two racks of the same name; four whose rack nobody knows
    racks.push_back({.id = fmt::format("m{:02}", i),
                     .datacenter = i % 3 == 0 ? "ams" : "fra",
                     .rack = i % 3 == 2 ? "" : "r1"});
  }
  ASSERT_TRUE(machines_.keep_inventory(racks, kStartNs - 4 * kHeartbeatNs));
  draw(kStartNs - 3 * kHeartbeatNs);
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

TEST_F(DrawerSafetyTest, MachinesRestForAsLongAsIsSaid) {
  DrawSettings wanted = settings();
  wanted.cooldown_ns = 25 * kNsPerMinute;
  start(wanted, kStartNs - kNsPerMinute);
  EXPECT_THAT(drawer_->policy().text(), HasSubstr("min 1 per stratum, cooldown 25m;"));
  std::map<std::string, int64_t> measured_until_ns;
  size_t drawn = 0;
  for (int64_t now_ns = kStartNs - kNsPerMinute; now_ns < kStartNs + 400 * kNsPerMinute;
       now_ns += kNsPerMinute / 4) {
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
        EXPECT_GE(machine.window_start_ns - before->second, wanted.cooldown_ns);
      }
      measured_until_ns[machine.machine_id] = store::window_end_ns(draw.draw, machine);
    }
  }
  EXPECT_GT(drawn, 60);
  EXPECT_THAT(measured_until_ns, SizeIs(12)) << "all have their turn";
}

// Six of eight machines are drawn, and two may measure at once.
TEST_F(DrawerSafetyTest, WhoFindsNoRoomMeasuresLaterInTheInterval) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 0.75;
  wanted.safety.share_of_platform = 0.25;
  start(wanted, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  std::map<int64_t, std::map<uint32_t, int>> at_once;  // machines by window and stratum
  int64_t last_ns = 0;
  for (const store::DrawnMachine& machine : machines) {
    ++at_once[machine.window_start_ns][machine.stratum];
    EXPECT_GE(machine.window_start_ns, kStartNs);
    EXPECT_LE(machine.window_start_ns + draw.window_ns, kStartNs + 10 * kNsPerMinute);
    last_ns = std::max(last_ns, machine.window_start_ns);
    EXPECT_EQ((*drawer_->heard_from(machine.machine_id, {}, kStartNs - 1))[0].start_ns(),
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
  EXPECT_EQ(draw.due_ns, last_ns + draw.window_ns + kNsPerMinute);
}

TEST_F(DrawerSafetyTest, WhoFindsNoRoomAtAllIsWithheld) {
  DrawSettings wanted = settings();
  wanted.window_ns = 5 * kNsPerMinute;  // one turn, or two
  wanted.size.fraction = 1;
  wanted.safety.share_of_job = 0.1;
  start(wanted, kStartNs - kNsPerMinute);
  for (int i = 0; i < 5; ++i) {
    add_machine(fmt::format("m{}", i), "a", kStartNs - 4 * kHeartbeatNs, {"db", "db"});
  }
  draw(kStartNs - 3 * kHeartbeatNs);
  const auto [draw, machines] = kept()[0];
  size_t withheld = 0;
  for (const store::DrawnMachine& machine : machines) {
    const bool is_withheld = machine.window_start_ns == 0;
    withheld += is_withheld;
    EXPECT_THAT(heard_from(machine.machine_id, kStartNs - 1), SizeIs(is_withheld ? 0 : 1));
  }
  EXPECT_GE(withheld, 3);
  EXPECT_LE(withheld, 4) << "one always may";
}

// Forty machines of two CPUs, of which half are drawn each time. Their daemons take 4 s of CPU time for a window, and 0.2 ms in a second
// anyway: the 48 s that they may take in ten minutes are enough for eleven, almost.
TEST_F(DrawerSafetyTest, AsManyMeasureAsTheFleetCanAfford) {
  constexpr int kMachines = 40;
  constexpr int kDraws = 30;
  DrawSettings wanted = settings();
  wanted.size.fraction = 0.5;
  wanted.safety.share_of_cpu = 0.001;
  start(wanted, kStartNs - kNsPerMinute);
  std::map<std::string, int64_t> cpu_time_ns;
  for (int i = 0; i < kMachines; ++i) {
    const std::string id = fmt::format("m{:02}", i);
    add_machine(id, "a", kStartNs - 4 * kHeartbeatNs, {}, 2);
    cpu_time_ns[id] = 7 * kNsPerSecond;  // it has been at work for a while
    drawer_->note_cost(id, cpu_time_ns[id], kStartNs - 4 * kHeartbeatNs);
  }
  std::vector<size_t> measured;
  for (int64_t interval_ns = kStartNs; interval_ns < kStartNs + kDraws * 10 * kNsPerMinute;
       interval_ns += 10 * kNsPerMinute) {
    draw(interval_ns - 3 * kHeartbeatNs);
    measured.push_back(0);
    const store::DrawWithMachines made = kept()[0];
    for (const store::DrawnMachine& machine : made.machines) {
      const bool measures =
          std::ranges::count(heard_from(machine.machine_id, interval_ns - 1), made.draw.id) > 0;
      EXPECT_EQ(machine.detail.empty(), measures);
      measured.back() += measures;
      if (measures) {
        cpu_time_ns[machine.machine_id] += 4 * kNsPerSecond;
        ASSERT_TRUE(drawer_->answered(made.draw.id, machine.machine_id, made.draw.window_ns, false,
                                      made.draw.window_start_ns + made.draw.window_ns));
      }
    }
    for (auto& [id, ns] : cpu_time_ns) {
      const int64_t next_ns = interval_ns + 10 * kNsPerMinute - 4 * kHeartbeatNs;
      ns += kNsPerMinute / 500;
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
  EXPECT_THAT(kept()[0].machines, Contains(Field(&store::DrawnMachine::detail,
                                                 HasSubstr("% of the fleet's CPU time, max 0.1 %"))));
}

TEST_F(DrawerSafetyTest, OneMachineMeasuresHoweverMuchItCosts) {
  DrawSettings wanted = settings();
  wanted.size.fraction = 1;
  start(wanted, kStartNs - kNsPerMinute);
  add_machines(kStartNs - 4 * kHeartbeatNs);
  draw(kStartNs - 3 * kHeartbeatNs);
  const store::Draw first = kept()[0].draw;
  const int64_t next_ns = kStartNs + 10 * kNsPerMinute;
  for (int i = 0; i < 12; ++i) {
    const std::string id = fmt::format("m{:02}", i);
    EXPECT_THAT(heard_from(id, kStartNs - 1), SizeIs(1));
    ASSERT_TRUE(drawer_->answered(first.id, id, first.window_ns, false, next_ns - 5 * kHeartbeatNs));
    drawer_->note_cost(id, kNsPerSecond, kStartNs - 1);
    drawer_->note_cost(id, 5 * kNsPerMinute, next_ns - 4 * kHeartbeatNs);
    ASSERT_TRUE(*machines_.machine_seen(id, "boot", next_ns - 4 * kHeartbeatNs, kHeartbeatNs));
  }
  draw(next_ns - 3 * kHeartbeatNs);
  const std::vector<store::DrawWithMachines> draws = kept();
  ASSERT_THAT(draws, SizeIs(2));
  EXPECT_EQ(std::ranges::count_if(draws[0].machines,
                                  [](const auto& machine) { return machine.window_start_ns > 0; }),
            1);
}

}  // namespace
}  // namespace plimsoll::scheduler
