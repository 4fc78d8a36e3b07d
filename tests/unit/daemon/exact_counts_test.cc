#include "daemon/exact_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/daemon/fake_machines.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using testing::FakeMachine;
using ::testing::HasSubstr;

class FakeEvents : public EventSource {
 public:
  explicit FakeEvents(const FakeMachine& machine)
      : catalogue_({.sysfs = machine.sysfs(), .cpuinfo = machine.cpuinfo()}) {}

  Result<perf::EventType> find(std::string_view name) const override { return catalogue_.find(name); }
  Status try_sampling(const perf::EventType& event) const override { return try_counting(event); }
  Status try_counting(const perf::EventType& event) const override {
    const perf::EventCode& code = event.codes.front();
    return event.codes.size() > 1 || uncounted.contains(code.pmu)
               ? fail(ErrorCode::kUnsupported, "{} does not count {}", code.pmu, event.name)
               : Status();
  }
  Status try_sampling_twice(const perf::EventType& event) const override { return try_sampling(event); }
  Status try_branches(const perf::EventType& event) const override { return try_sampling(event); }
  Result<double> rate_of(const perf::EventType& /*event*/) const override { return 1; }

  std::set<std::string> uncounted;  // PMUs

 private:
  perf::EventCatalogue catalogue_;
};

ExactCountSettings settings_of(const std::vector<std::string>& events) {
  auto settings = compile_exact_counts({.groups = {"/a"}, .events = events, .max_fds = 8});
  EXPECT_TRUE(settings.has_value()) << settings.error().text();
  return settings.value_or(ExactCountSettings());
}

// "NAME unit codes" of what is counted, "NAME: why" of what is not.
std::vector<std::string> lines(const GroupCountPlan& plan) {
  std::vector<std::string> lines;
  for (const GroupEvent& event : plan.events) {
    lines.push_back(
        fmt::format("{} {} {}", event.name, wire::Unit_Name(event.unit), event.type.codes.size()));
  }
  for (const wire::MissingEvent& missing : plan.missing) {
    lines.push_back(fmt::format("{}: {}", missing.name(), missing.reason()));
  }
  return lines;
}

TEST(ExactCounts, AreNamedBesideWhatIsSampled) {
  const FakeMachine machine = testing::intel_hybrid();
  EXPECT_THAT(
      lines(plan_group_counts(settings_of({"cycles", "task-clock", "cpu-cycles", "cpu_core/cache-misses/"}),
                              {}, FakeEvents(machine))),
      ElementsAre("exact-cycles COUNT 2", "exact-task-clock NANOSECONDS 1",
                  "exact-cpu_core/cache-misses/ COUNT 1"));
}

TEST(ExactCounts, OfWhatAMachineLacksSayWhy) {
  const FakeMachine machine = testing::vm_without_pmu();
  EXPECT_THAT(
      lines(plan_group_counts(settings_of({"cycles", "context-switches"}), {}, FakeEvents(machine))),
      ElementsAre("exact-context-switches COUNT 1", HasSubstr("exact-cycles: event cycles needs a PMU")));
}

// Whatever runs there would be counted on some CPUs alone, and look like the whole.
TEST(ExactCounts, NeedAnEventOnEachKindOfCores) {
  const FakeMachine machine = testing::intel_hybrid();
  FakeEvents events(machine);
  events.uncounted = {"cpu_atom"};
  EXPECT_THAT(lines(plan_group_counts(settings_of({"cycles"}), {}, events)),
              ElementsAre("exact-cycles: cpu_atom does not count cycles"));
}

TEST(ExactCounts, AreNotOfPackages) {
  const FakeMachine machine = testing::intel_hybrid();
  EXPECT_THAT(lines(plan_group_counts(settings_of({"power/energy-pkg/"}), {}, FakeEvents(machine))),
              ElementsAre(HasSubstr("is counted per CPU package")));
}

TEST(ExactCounts, AreOfEventsThatTheMachinePermits) {
  const FakeMachine machine = testing::intel_hybrid();
  const std::vector<std::string> allowed{"CPU-cycles"};
  EXPECT_THAT(
      lines(plan_group_counts(settings_of({"cycles", "task-clock"}), allowed, FakeEvents(machine))),
      ElementsAre("exact-cycles COUNT 2", "exact-task-clock: limits.events does not permit task-clock"));
}

TEST(ExactCounts, AreNoneWithoutGroups) {
  const auto settings = compile_exact_counts({});
  ASSERT_TRUE(settings);
  const FakeMachine machine = testing::amd_zen3();
  const identity::ProcFs proc_fs;
  EXPECT_EQ(exact_counts(*settings, {}, FakeEvents(machine), proc_fs, nullptr), nullptr);
}

TEST(ExactCounts, AreRefusedWhereTheirSettingsAreWrong) {
  const auto groups = compile_exact_counts({.groups = {"("}, .events = {}});
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().field, "count.groups");
  const auto events = compile_exact_counts({.groups = {"/a"}, .events = {"cycels"}});
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().field, "count.events");
  EXPECT_THAT(events.error().hint, HasSubstr("cycles"));
  EXPECT_FALSE(compile_exact_counts({.groups = {"/a"}, .events = std::vector<std::string>(17, "cycles")}));
}

}  // namespace
}  // namespace plimsoll
