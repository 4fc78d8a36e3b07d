// Machines and servers that fail: limits hold, what fails is stopped and comes back as specified, and nothing counts twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/time.h"
#include "query/snapshot/snapshot.h"
#include "store/draws/draw_outcome.h"
#include "tests/simulation/simulated_fleet.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"

namespace plimsoll::simulation::faults_test {
namespace {

using plimsoll::testing::kStartNs;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kHeartbeatNs = 2 * kNsPerMinute;

scheduler::DrawSettings settings() {
  scheduler::DrawSettings settings;
  settings.interval_ns = 10 * kNsPerMinute;
  settings.window_ns = 10 * kNsPerSecond;
  settings.late_after_ns = 5 * kNsPerMinute;
  settings.heartbeat_ns = kHeartbeatNs;
  settings.size = {.fraction = 0.3, .min_per_stratum = 2};
  settings.safety = {.share_of_job = 0.1, .share_of_platform = 0.2, .share_of_rack = 0.2};
  settings.strata = {"platform"};
  settings.event_sets = {{"cycles"}, {"cache-misses"}};
  return settings;
}

// Sixty machines of two platforms, each with two of six jobs, in racks of six: five in each of two datacenters, under the same names.
std::vector<SimulatedMachine> machines() {
  std::vector<SimulatedMachine> machines;
  for (int i = 0; i < 60; ++i) {
    SimulatedMachine& machine = machines.emplace_back();
    machine.attributes.set_id(fmt::format("m{:02}", i));
    machine.attributes.set_boot_id("boot");
    machine.attributes.set_platform(i % 3 == 0 ? "lake" : "zen");
    machine.attributes.set_datacenter(i % 2 == 0 ? "ams" : "fra");
    machine.rack = fmt::format("r{}", (i / 2) % 5);
    machine.attributes.set_daemon_version(i % 2 == 0 ? "1" : "2");
    machine.instances[fmt::format("job{}", i % 6)] = 1 + i % 2;
    machine.instances[fmt::format("job{}", (i / 6) % 6)] = 1;
  }
  return machines;
}

std::string stacks(const SimulatedMachine& machine, int64_t /*from_ns*/, int64_t /*to_ns*/) {
  std::string text;
  for (const auto& [job, instances] : machine.instances) {
    text += fmt::format("process={} main;work {}\n", job, instances);
  }
  return text;
}

class FaultsTest : public ::testing::Test {
 protected:
  void start(std::function<Fate(const SimulatedMachine&, const wire::Assignment&)> fate) {
    server_ = std::make_unique<SimulatedServer>(folder_ / "data", settings(), 3);
    server_->start(now_ns_);
    fleet_ = std::make_unique<SimulatedFleet>(
        machines(),
        FleetBehaviour{.stacks = stacks, .fate = std::move(fate), .vanishes_for_ns = 15 * kNsPerMinute},
        *server_, kHeartbeatNs, settings().safety);
  }
  void run(int64_t length_ns) {
    fleet_->run(now_ns_, now_ns_ + length_ns);
    now_ns_ += length_ns;
  }
  std::vector<store::DrawWithMachines> draws() {
    return *store::DrawStore::open(folder_ / "data/draws.db", sqlite::OpenMode::kRead)->newest(10'000);
  }
  std::vector<std::string> stops() {
    std::vector<std::string> names;
    for (const store::Stop& stop : server_->breaker().stops()) {
      names.push_back(name_of(stop));
    }
    return names;
  }
  // At no instant, orders among it.
  void expect_never_too_many() {
    EXPECT_THAT(fleet_->watch().violations(), IsEmpty());
    EXPECT_GT(fleet_->orders(), 0);
  }
  // Of each draw, each machine's profile once, in what queries see.
  void expect_nothing_counted_twice() {
    server_->build_rows();
    const auto snapshot = query::Snapshot::load(folder_ / "data");
    ASSERT_TRUE(snapshot);
    std::set<std::pair<std::string, uint32_t>> seen;
    const auto& origins = (*snapshot)->dictionaries.origins;
    for (size_t id = 1; id < origins.size(); ++id) {
      EXPECT_TRUE(seen.emplace(origins[id].draw, origins[id].machine).second) << origins[id].draw;
    }
    EXPECT_EQ(seen.size(), fleet_->profiles_sent());
  }

  testing::TemporaryDirectory folder_;
  int64_t now_ns_ = kStartNs;
  std::unique_ptr<SimulatedServer> server_;
  std::unique_ptr<SimulatedFleet> fleet_;
};

TEST_F(FaultsTest, DaemonsThatCrashOnOneEventSetAreNotGivenItAgain) {
  bool is_mended = false;
  int crashes = 0;
  start([&](const SimulatedMachine&, const wire::Assignment& assignment) {
    const bool crashes_on = !is_mended && assignment.events(0).name() == "cache-misses";
    crashes += crashes_on;
    return crashes_on ? Fate::kCrashes : Fate::kAnswers;
  });
  run(3 * kNsPerHour);
  EXPECT_THAT(stops(), ElementsAre("event set cache-misses"));
  // One draw's machines, and then one at a time, after an hour.
  const int crashes_before = crashes;
  EXPECT_LE(crashes_before, 20);
  run(6 * kNsPerHour);
  EXPECT_LE(crashes, crashes_before + 3);
  expect_never_too_many();
  // The other event set goes on.
  std::set<std::string> events;
  const auto all = draws();
  int answered = 0;
  for (const auto& [draw, machines] : all) {
    for (const store::DrawnMachine& machine : machines) {
      answered += machine.answered_ns > 0;
      EXPECT_FALSE(machine.answered_ns > 0 && draw.collects.events(0).name() == "cache-misses");
    }
  }
  EXPECT_GE(answered, 300);
  // Once it is mended it comes back by itself.
  is_mended = true;
  run(26 * kNsPerHour);
  EXPECT_THAT(stops(), IsEmpty());
  expect_nothing_counted_twice();
}

TEST_F(FaultsTest, FailuresEverywhereEndAllMeasuring) {
  bool fails = false;
  start([&](const SimulatedMachine&, const wire::Assignment&) {
    return fails ? Fate::kVanishes : Fate::kAnswers;
  });
  run(2 * kNsPerHour);
  EXPECT_THAT(stops(), IsEmpty());
  fails = true;
  run(2 * kNsPerHour);
  EXPECT_THAT(stops(), Not(IsEmpty()));
  const size_t measured = fleet_->measured();
  run(12 * kNsPerHour);
  EXPECT_LE(fleet_->measured(), measured + 8) << "one machine at a time, after longer and longer pauses";
  EXPECT_GT(fleet_->measured(), measured) << "it is tried again";
  expect_never_too_many();
}

TEST_F(FaultsTest, TheKillSwitchEndsWhatRunsWithinAHeartbeat) {
  start([](const SimulatedMachine&, const wire::Assignment&) { return Fate::kAnswers; });
  run(kNsPerHour);
  const size_t before = fleet_->measured();
  EXPECT_GT(before, 50);
  ASSERT_TRUE(server_->breaker().stop_everything("a test", "somebody", now_ns_));
  run(kHeartbeatNs);
  const size_t at_heartbeat = fleet_->measured();
  run(2 * kNsPerHour);
  EXPECT_EQ(fleet_->measured(), at_heartbeat);
  ASSERT_TRUE(server_->breaker().resume("somebody", now_ns_));
  run(kNsPerHour);
  EXPECT_GT(fleet_->measured(), at_heartbeat + 50);
  EXPECT_THAT(stops(), IsEmpty()) << "what was stopped has not failed";
  expect_never_too_many();
  expect_nothing_counted_twice();
}

TEST_F(FaultsTest, AServerThatIsKilledAgainAndAgainLosesNothing) {
  Random random(20'261'123);
  start([](const SimulatedMachine&, const wire::Assignment&) { return Fate::kAnswers; });
  run(kNsPerHour);
  for (int crash = 0; crash < 12; ++crash) {
    run(static_cast<int64_t>(random() % 15) * kNsPerMinute);
    server_->crash();
    run(static_cast<int64_t>(random() % 5) * kNsPerMinute);
    server_->start(now_ns_);
  }
  run(kNsPerHour);
  expect_never_too_many();
  int64_t end_ns = INT64_MAX;
  int answered = 0;
  const auto all = draws();
  for (const auto& [draw, machines] : all) {  // the newest first
    if (!store::is_by_order(draw.id)) {
      EXPECT_LE(draw.interval_start_ns + draw.interval_ns, end_ns) << "two draws for one time";
      end_ns = draw.interval_start_ns;
    }
    for (const store::DrawnMachine& machine : machines) {
      answered += machine.answered_ns > 0;
    }
  }
  EXPECT_EQ(answered, fleet_->profiles_sent());
  EXPECT_GT(answered, 100);
  EXPECT_THAT(stops(), IsEmpty()) << "a server's crashes are not its machines' failures";
  expect_nothing_counted_twice();
}

TEST_F(FaultsTest, GarbageIsRefusedAndChangesNothing) {
  start([](const SimulatedMachine& machine, const wire::Assignment&) {
    return machine.attributes.id() < "m05" ? Fate::kLies : Fate::kAnswers;
  });
  run(4 * kNsPerHour);
  expect_never_too_many();
  const auto all = draws();
  int lied = 0;
  for (const auto& [draw, machines] : all) {
    for (const store::DrawnMachine& machine : machines) {
      const bool is_liar = machine.machine_id < "m05" && machine.told_ns > 0 && now_ns_ > draw.due_ns;
      lied += is_liar;
      if (is_liar && machine.window_start_ns > 0) {
        EXPECT_EQ(store::outcome_of(draw, machine, now_ns_), store::DrawOutcome::kLost);
      }
    }
  }
  EXPECT_GT(lied, 10);
  expect_nothing_counted_twice();
}

// Its profiles would be filed under times of which it says nothing.
TEST_F(FaultsTest, ClocksThatLieAreNotBelieved) {
  start([](const SimulatedMachine& machine, const wire::Assignment&) {
    return machine.attributes.id() < "m05" ? Fate::kMisdates : Fate::kAnswers;
  });
  run(4 * kNsPerHour);
  int misdated = 0;
  for (const auto& [draw, machines] : draws()) {
    for (const store::DrawnMachine& machine : machines) {
      if (machine.machine_id < "m05" && machine.told_ns > 0 && now_ns_ > draw.due_ns) {
        ++misdated;
        EXPECT_EQ(store::outcome_of(draw, machine, now_ns_), store::DrawOutcome::kLost);
      }
    }
  }
  EXPECT_GT(misdated, 10);
  expect_never_too_many();
  expect_nothing_counted_twice();
}

TEST_F(FaultsTest, WhoHangsIsMissedAndCountsOnceWhenItReturns) {
  bool hangs = true;
  start([&](const SimulatedMachine& machine, const wire::Assignment&) {
    return hangs && machine.attributes.id() < "m05" ? Fate::kHangs : Fate::kAnswers;
  });
  run(4 * kNsPerHour);
  hangs = false;
  run(2 * kNsPerHour);
  std::map<store::DrawOutcome, int> outcomes;
  for (const auto& [draw, machines] : draws()) {
    for (const store::DrawnMachine& machine : machines) {
      const bool is_over = machine.machine_id < "m05" && machine.told_ns > 0 && now_ns_ > draw.due_ns;
      outcomes[store::outcome_of(draw, machine, now_ns_)] += is_over;
    }
  }
  EXPECT_GT(outcomes[store::DrawOutcome::kLate], 10);
  EXPECT_EQ(outcomes[store::DrawOutcome::kVanished], 0) << "all have returned with what they had";
  expect_never_too_many();
  expect_nothing_counted_twice();
}

}  // namespace
}  // namespace plimsoll::simulation::faults_test
