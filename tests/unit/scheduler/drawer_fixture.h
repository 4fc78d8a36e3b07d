// A server's draws and its machines, over simulated time.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "scheduler/assignments/draw_method.h"
#include "scheduler/assignments/drawer.h"
#include "store/draws/draw_outcome.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scheduler {

constexpr int64_t kHeartbeatNs = 5 * kNsPerSecond;
// A whole number of intervals since 1970.
using plimsoll::testing::kStartNs;

inline DrawSettings settings() {
  DrawSettings settings;
  settings.interval_ns = 10 * kNsPerMinute;
  settings.window_ns = 10 * kNsPerSecond;
  settings.late_after_ns = kNsPerMinute;
  settings.heartbeat_ns = kHeartbeatNs;
  settings.size = {.fraction = 0.25, .min_per_stratum = 1};
  settings.safety = {.share_of_job = 1, .share_of_platform = 1};
  settings.strata = {"platform"};
  settings.event_sets = {{"cycles", "instructions"}};
  settings.collects.set_rate_hz(199);
  return settings;
}

class DrawerFixture : public ::testing::Test {
 protected:
  void SetUp() override { start(settings(), kStartNs - kNsPerMinute); }

  // Whatever a test has done to the fleet since: all draws come out the same when they are made again.
  void TearDown() override {
    for (const auto& of_list : kept()) {
      const auto draw = open_store().draw(of_list.draw.id);
      const Status again = draw_again(**draw, fleet_at());
      EXPECT_TRUE(again) << again.error().text();
    }
  }

  // Starts, or starts again as after a restart.
  void start(const DrawSettings& settings, int64_t now_ns) {
    drawer_.reset();
    breaker_ = *CollectionBreaker::open(open_store(), {});
    ASSERT_TRUE(machines_.note_server_start(now_ns));
    drawer_ = *Drawer::open(open_store(), open_store(), *DrawPolicy::make(settings, 42), *breaker_, now_ns);
  }
  store::DrawStore open_store() {
    return *store::DrawStore::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  }

  store::FleetAt fleet_at() {
    return [this](int64_t time_ns) { return machines_.fleet_at(time_ns); };
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
  std::unique_ptr<CollectionBreaker> breaker_;
  std::unique_ptr<Drawer> drawer_;
};

}  // namespace plimsoll::scheduler
