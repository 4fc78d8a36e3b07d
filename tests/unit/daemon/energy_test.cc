#include "daemon/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/machine_counters.h"
#include "proto/profile_codec.h"
#include "tests/unit/daemon/fake_machines.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using testing::FakeMachine;
using ::testing::HasSubstr;

// Two packages with their memory, one of them about to wrap around.
FakeMachine two_packages() {
  return {R"(
    class/powercap/intel-rapl/enabled: 1
    class/powercap/intel-rapl:0/name: package-0
    class/powercap/intel-rapl:0/energy_uj: 1000
    class/powercap/intel-rapl:0/max_energy_range_uj: 262143328850
    class/powercap/intel-rapl:0:0/name: dram
    class/powercap/intel-rapl:0:0/energy_uj: 500
    class/powercap/intel-rapl:0:0/max_energy_range_uj: 65712999613
    class/powercap/intel-rapl:1/name: package-1
    class/powercap/intel-rapl:1/energy_uj: 262143328800
    class/powercap/intel-rapl:1/max_energy_range_uj: 262143328850
    class/powercap/intel-rapl:1:0/name: unheard-of
    class/powercap/intel-rapl:1:0/energy_uj: 1
    class/powercap/intel-rapl-mmio:0/name: package-0
    class/powercap/intel-rapl-mmio:0/energy_uj: 1000
  )",
          ""};
}

// A window of `seconds`, within which the files change.
wire::RawProfile collect(const FakeMachine& machine, int64_t seconds,
                         const std::function<void()>& meanwhile) {
  int64_t now_ns = 1;
  PowercapEnergy energy(energy_zones(machine.sysfs()), [&] { return now_ns; });
  wire::RawProfile profile;
  ProfileBuilder builder;
  energy.start();
  now_ns += seconds * 1'000'000'000;
  meanwhile();
  energy.add_to(profile, builder);
  builder.finish(profile);
  return profile;
}

std::vector<std::string> rows_of(const wire::RawProfile& profile) {
  std::vector<std::string> rows;
  for (const wire::Event& event : profile.events()) {
    rows.push_back(fmt::format("{} {} {}", event.name(),
                               static_cast<double>(event.hits()) * wire::scale_of(event),
                               wire::Unit_Name(event.unit())));
  }
  for (const wire::MissingEvent& missing : profile.missing_events()) {
    rows.push_back(fmt::format("no {}", missing.name()));
  }
  return rows;
}

TEST(Energy, OfPackagesAddsUpAroundTheWrap) {
  const FakeMachine machine = two_packages();
  const wire::RawProfile profile = collect(machine, 10, [&] {
    machine.write("class/powercap/intel-rapl:0/energy_uj", "3000");
    machine.write("class/powercap/intel-rapl:0:0/energy_uj", "700");
    machine.write("class/powercap/intel-rapl:1/energy_uj", "150");
  });
  EXPECT_THAT(rows_of(profile), ElementsAre("energy-pkg 2200 MICROJOULES", "energy-ram 200 MICROJOULES"));
  ASSERT_EQ(profile.processes_size(), 1) << "one for all events";
  EXPECT_EQ(profile.processes(0).job(), "[machine]");
  EXPECT_EQ(profile.events(0).samples(), 1);
}

TEST(Energy, ThatCannotBeReadIsSaidAndNotHalved) {
  const FakeMachine machine = two_packages();
  const wire::RawProfile profile =
      collect(machine, 10, [&] { machine.remove("class/powercap/intel-rapl:1/energy_uj"); });
  EXPECT_THAT(rows_of(profile), ElementsAre("energy-ram 0 MICROJOULES", "no energy-pkg"));
  EXPECT_THAT(profile.missing_events(0).reason(), HasSubstr("intel-rapl:1/energy_uj"));
}

TEST(Energy, OfACounterWhoseRangeIsUnknownIsNotTold) {
  const FakeMachine machine = two_packages();
  machine.remove("class/powercap/intel-rapl:0/max_energy_range_uj");
  const wire::RawProfile profile = collect(machine, 10, [] {});
  EXPECT_THAT(rows_of(profile), ElementsAre("energy-ram 0 MICROJOULES", "no energy-pkg"));
  EXPECT_THAT(profile.missing_events(0).reason(), HasSubstr("intel-rapl:0/max_energy_range_uj"));
}

TEST(Energy, OfAWindowInWhichACounterMayWrapTwiceIsNotTold) {
  const wire::RawProfile profile = collect(two_packages(), 200, [] {});
  EXPECT_THAT(rows_of(profile), ElementsAre("energy-pkg 0 MICROJOULES", "no energy-ram"));
  EXPECT_THAT(profile.missing_events(0).reason(), HasSubstr("wrapped around"));
}

TEST(Energy, IsAbsentWhereThereAreNoCounters) {
  const FakeMachine machine = testing::vm_without_pmu();
  EXPECT_EQ(energy_counts(perf::EventCatalogue({.sysfs = machine.sysfs(), .cpuinfo = {}}), {}), nullptr);
}

TEST(Energy, IsOfThePowerPmuWhereThereIsOne) {
  const FakeMachine machine = testing::intel_hybrid();
  const auto events = power_events(perf::EventCatalogue({.sysfs = machine.sysfs(), .cpuinfo = {}}));
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].name, "energy-pkg");
  EXPECT_EQ(events[0].codes,
            (std::vector<perf::EventCode>{{.type = 21, .config = 2, .cpus = {0}, .pmu = "power"}}));
}

TEST(Energy, IsCollectedWhereItIsAllowed) {
  const FakeMachine machine = two_packages();
  const perf::EventCatalogue catalogue({.sysfs = machine.sysfs(), .cpuinfo = {}});
  const std::vector<std::string> others{"cycles"};
  EXPECT_EQ(energy_counts(catalogue, others), nullptr);
  const std::vector<std::string> memory{"energy-ram"};
  const auto energy = energy_counts(catalogue, memory);
  ASSERT_NE(energy, nullptr);
  wire::RawProfile profile;
  ProfileBuilder builder;
  energy->start();
  machine.write("class/powercap/intel-rapl:0:0/energy_uj", "501");
  energy->add_to(profile, builder);
  builder.finish(profile);
  EXPECT_THAT(rows_of(profile), ElementsAre("energy-ram 1 MICROJOULES"));
}

}  // namespace
}  // namespace plimsoll
