#include "daemon/event_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/daemon/fake_machines.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using testing::FakeMachine;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine whose files say which events there are, and whose kernel refuses some.
class FakeEvents : public EventSource {
 public:
  explicit FakeEvents(const FakeMachine& machine)
      : catalogue_({.sysfs = machine.sysfs(), .cpuinfo = machine.cpuinfo()}) {}

  Result<perf::EventType> find(std::string_view name) const override { return catalogue_.find(name); }
  Status try_sampling(const perf::EventType& event) const override {
    const std::string& pmu = event.codes.front().pmu;
    if (denied) {
      return fail(ErrorCode::kDenied, "opening {}", event.name);
    }
    return unsampled.contains(pmu) || unsampled.contains(event.name)
               ? fail(ErrorCode::kUnsupported, "{} does not sample {}", pmu, event.name)
               : Status();
  }
  Status try_counting(const perf::EventType& event) const override {
    return uncounted.contains(event.name) ? fail(ErrorCode::kUnsupported, "nobody counts {}", event.name)
                                          : Status();
  }
  Status try_sampling_twice(const perf::EventType& event) const override {
    return sampled_once.contains(event.name)
               ? fail(ErrorCode::kUnsupported, "one counter alone counts {}", event.name)
               : Status();
  }
  Status try_branches(const perf::EventType& event) const override {
    return unbranched.contains(event.codes.front().pmu)
               ? fail(ErrorCode::kUnsupported, "{} records no branches", event.codes.front().pmu)
               : Status();
  }
  Result<double> rate_of(const perf::EventType& /*event*/) const override { return rate; }

  std::set<std::string> unsampled;  // PMUs or events
  std::set<std::string> sampled_once;
  std::set<std::string> uncounted;
  std::set<std::string> unbranched;  // PMUs
  double rate = 1e6;
  bool denied = false;

 private:
  perf::EventCatalogue catalogue_;
};

wire::Assignment assignment_of(const std::vector<std::string>& events) {
  wire::Assignment assignment;
  assignment.set_rate_hz(100);
  assignment.set_stack_rate_hz(100);
  for (const std::string& event : events) {
    assignment.add_events()->set_name(event);
  }
  return assignment;
}

std::vector<std::string> names_of(const EventPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedEvent& event : plan.events) {
    names.push_back(event.sampled.type.name);
  }
  return names;
}

std::vector<std::string> missing_of(const EventPlan& plan) {
  std::vector<std::string> names;
  for (const wire::MissingEvent& missing : plan.missing) {
    names.push_back(missing.name());
  }
  return names;
}

TEST(EventPlan, HasCyclesAndInstructionsUnlessTold) {
  const FakeMachine machine = testing::amd_zen3();
  const auto plan = plan_events(assignment_of({}), {}, FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(names_of(*plan), ElementsAre("cycles", "instructions", "context-switches", "cpu-migrations"));
  EXPECT_THAT(plan->missing, IsEmpty());
}

TEST(EventPlan, SaysWhatIsMissingOnAMachineWithoutPmu) {
  const FakeMachine machine = testing::vm_without_pmu();
  const auto plan = plan_events(assignment_of({}), {}, FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(names_of(*plan), ElementsAre("cpu-clock", "context-switches", "cpu-migrations"));
  EXPECT_EQ(plan->events[0].requested_name, "cycles");
  EXPECT_THAT(missing_of(*plan), ElementsAre("cycles", "instructions"));
  EXPECT_THAT(plan->missing[0].reason(), HasSubstr("needs a PMU of the CPU's cores"));
}

TEST(EventPlan, FailsWhereThePrivilegeIsMissing) {
  const FakeMachine machine = testing::amd_zen3();
  FakeEvents events(machine);
  events.denied = true;
  EXPECT_EQ(plan_events(assignment_of({}), {}, events).error().code, ErrorCode::kDenied);
}

TEST(EventPlan, TakesCompanionsInFewSamplesWithoutStacks) {
  const FakeMachine machine = testing::amd_zen3();
  const auto plan = plan_events(assignment_of({"cpu-clock"}), {}, FakeEvents(machine));
  ASSERT_EQ(plan->events.size(), 3);
  const PlannedEvent& switches = plan->events[1];
  EXPECT_EQ(switches.sampled.stack_share, 0);
  EXPECT_EQ(switches.sampled.mean_period, 1000) << "10 of 10,000 a second";
  EXPECT_EQ(switches.sampled.set, perf::kEverySet);
  EXPECT_EQ(switches.min_period, 100);
}

TEST(EventPlan, TakesCompanionsAsTheyAreAskedForOrAllowed) {
  const FakeMachine machine = testing::amd_zen3();
  const auto asked = plan_events(assignment_of({"cs", "cpu-clock"}), {}, FakeEvents(machine));
  EXPECT_THAT(names_of(*asked), ElementsAre("context-switches", "cpu-clock", "cpu-migrations"));
  EXPECT_EQ(asked->events[0].sampled.stack_share, 1);
  const std::vector<std::string> allowed{"cpu-clock", "MIGRATIONS"};
  const auto limited = plan_events(assignment_of({"cpu-clock"}), allowed, FakeEvents(machine));
  EXPECT_THAT(names_of(*limited), ElementsAre("cpu-clock", "cpu-migrations"));
}

TEST(EventPlan, LeavesOutWhatTheMachineDoesNotAllowAndSaysSo) {
  const FakeMachine machine = testing::amd_zen3();
  const std::vector<std::string> allowed{"cpu-clock", "cpu-cycles"};
  const auto plan =
      plan_events(assignment_of({"page-faults", "cpu-clock", "cycles"}), allowed, FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(names_of(*plan), ElementsAre("cpu-clock", "cycles"));
  ASSERT_THAT(missing_of(*plan), ElementsAre("page-faults"));
  EXPECT_THAT(plan->missing[0].reason(), HasSubstr("limits.events"));
  const auto none = plan_events(assignment_of({"page-faults"}), allowed, FakeEvents(machine));
  EXPECT_EQ(none.error().code, ErrorCode::kDenied);
}

TEST(EventPlan, TakesAllThatIsAllowedWhereNothingIsAskedFor) {
  const FakeMachine machine = testing::amd_zen3();
  const std::vector<std::string> allowed{"page-faults", "cpu-clock"};
  const auto plan = plan_events(assignment_of({}), allowed, FakeEvents(machine));
  EXPECT_THAT(names_of(*plan), ElementsAre("page-faults", "cpu-clock"));
}

TEST(EventPlan, IsBoundedInEventsAndPeriods) {
  const FakeMachine machine = testing::amd_zen3();
  std::vector<std::string> events;
  for (int code = 0; code < 70; ++code) {
    events.push_back(fmt::format("r{:x}", code));
  }
  const auto plan = plan_events(assignment_of(events), {}, FakeEvents(machine));
  EXPECT_EQ(plan->events.size(), 64 + 2) << "and the companions";
  EXPECT_EQ(plan->missing.size(), 6);
  wire::Assignment endless = assignment_of({"cycles"});
  endless.mutable_events(0)->set_period(UINT64_MAX);
  EXPECT_THAT(plan_events(endless, {}, FakeEvents(machine)).error().message, HasSubstr("over the maximum"));
}

TEST(EventPlan, TakesFewerSamplesWhereStacksCannotBeLeftOut) {
  const FakeMachine machine = testing::amd_zen3();
  FakeEvents events(machine);
  events.sampled_once = {"ref-cycles"};
  wire::Assignment assignment = assignment_of({"cycles", "ref-cycles"});
  assignment.set_stack_rate_hz(10);
  const auto plan = plan_events(assignment, {}, events);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->events[0].sampled.stack_share, 0.1);
  EXPECT_EQ(plan->events[0].sampled.mean_period, 30'000'000);
  EXPECT_EQ(plan->events[1].sampled.stack_share, 1);
  EXPECT_EQ(plan->events[1].sampled.mean_period, 300'000'000) << "10 stacks a second";
  EXPECT_THAT(plan->notes, ::testing::Contains(HasSubstr("ref-cycles is sampled at the rate of its stacks")));
}

TEST(EventPlan, NumbersSetsOnItsOwn) {
  const FakeMachine machine = testing::amd_zen3();
  wire::Assignment assignment = assignment_of({"cycles", "llc-misses", "instructions"});
  assignment.mutable_events(0)->set_set(UINT32_MAX);
  assignment.mutable_events(1)->set_set(7);
  assignment.mutable_events(2)->set_set(UINT32_MAX);
  const auto plan = plan_events(assignment, {}, FakeEvents(machine));
  EXPECT_EQ(count_sets(*plan), 2);
  EXPECT_EQ(plan->events[0].sampled.set, plan->events[2].sampled.set);
  EXPECT_NE(plan->events[0].sampled.set, plan->events[1].sampled.set);
}

TEST(EventPlan, AddsBranchStacksAtTheirOwnRate) {
  const FakeMachine machine = testing::amd_zen3();
  wire::Assignment assignment = assignment_of({"cycles"});
  EXPECT_THAT(names_of(*plan_events(assignment, {}, FakeEvents(machine))),
              ElementsAre("cycles", "context-switches", "cpu-migrations"))
      << "not unless they are asked for";
  assignment.set_branch_rate_hz(20);
  const auto plan = plan_events(assignment, {}, FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  ASSERT_THAT(names_of(*plan), ElementsAre("cycles", "context-switches", "cpu-migrations", "branch-stacks"));
  const perf::SampledEvent& branches = plan->events.back().sampled;
  EXPECT_TRUE(branches.with_branches);
  EXPECT_EQ(branches.mean_period, 150'000'000);
  EXPECT_EQ(plan->events[0].sampled.mean_period, 30'000'000) << "the other samples stay as they are";
  EXPECT_EQ(branches.stack_share, 0);
  EXPECT_EQ(branches.set, perf::kEverySet);
  EXPECT_EQ(branches.type.codes.front().type, plan->events[0].sampled.type.codes.front().type);
}

TEST(EventPlan, SaysWhyThereAreNoBranchStacksAndGoesOn) {
  const FakeMachine machine = testing::amd_zen3();
  FakeEvents events(machine);
  events.unbranched = {"cpu"};
  wire::Assignment assignment = assignment_of({"cycles"});
  assignment.set_branch_rate_hz(20);
  const auto plan = plan_events(assignment, {}, events);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(names_of(*plan), ElementsAre("cycles", "context-switches", "cpu-migrations"));
  ASSERT_THAT(missing_of(*plan), ElementsAre("branch-stacks"));
  EXPECT_THAT(plan->missing[0].reason(), HasSubstr("recording branches: cpu records no branches"));
  const std::vector<std::string> allowed{"cycles"};
  const auto limited = plan_events(assignment, allowed, FakeEvents(machine));
  ASSERT_THAT(missing_of(*limited), ElementsAre("branch-stacks"));
  EXPECT_THAT(limited->missing[0].reason(), HasSubstr("limits.events"));
  const std::vector<std::string> both{"cycles", "branch-stacks"};
  EXPECT_THAT(names_of(*plan_events(assignment, both, FakeEvents(machine))),
              ElementsAre("cycles", "branch-stacks"));
}

TEST(EventPlan, RecordsBranchesOnTheCoresThatCan) {
  const FakeMachine machine = testing::intel_hybrid();
  FakeEvents events(machine);
  events.unbranched = {"cpu_atom"};
  wire::Assignment assignment = assignment_of({"cpu-clock"});
  assignment.set_branch_rate_hz(20);
  const auto plan = plan_events(assignment, {}, events);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(names_of(*plan).back(), "branch-stacks");
  ASSERT_EQ(plan->events.back().sampled.type.codes.size(), 1);
  EXPECT_EQ(plan->events.back().sampled.type.codes[0].pmu, "cpu_core");
}

TEST(EventPlan, SaysWhichEventsCannotBeHadAndGoesOnWithTheOthers) {
  const FakeMachine machine = testing::amd_zen3();
  FakeEvents events(machine);
  events.unsampled = {"bus-cycles"};
  events.uncounted = {"bus-cycles"};
  const auto plan = plan_events(assignment_of({"cycles", "bus-cycles", "intel_pt/x/", "cycles"}), {}, events);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(missing_of(*plan), ElementsAre("bus-cycles", "intel_pt/x/", "cycles"));
  EXPECT_THAT(plan->missing[2].reason(), HasSubstr("requested twice"));
  EXPECT_FALSE(plan_events(assignment_of({"bus-cycles"}), {}, events).has_value()) << "none is left";
}

TEST(EventPlan, TakesTimeOffTheCpuWithTheStacksOfSwitches) {
  const FakeMachine machine = testing::amd_zen3();
  FakeEvents events(machine);
  events.rate = 5000;
  const auto plan = plan_events(assignment_of({"off-cpu-ns", "cpu-clock"}), {}, events);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->waits, ElementsAre("off-cpu-ns"));
  EXPECT_EQ(plan->switches_per_second, 5000);
  ASSERT_THAT(names_of(*plan), ElementsAre("cpu-clock", "context-switches", "cpu-migrations"));
  const PlannedEvent& switches = plan->events[1];
  EXPECT_EQ(switches.sampled.stack_share, 1);
  EXPECT_EQ(switches.sampled.mean_period, 50) << "100 stacks a second";
  EXPECT_EQ(switches.min_period, 10) << "should threads switch more often within a window";
  EXPECT_EQ(switches.sampled.set, perf::kEverySet);
}

TEST(EventPlan, TakesTheStacksOfSwitchesAsTheyAreAskedFor) {
  const FakeMachine machine = testing::amd_zen3();
  wire::Assignment assignment = assignment_of({"off-cpu-ns", "context-switches"});
  assignment.mutable_events(1)->set_period(1);
  const auto plan = plan_events(assignment, {}, FakeEvents(machine));
  ASSERT_THAT(names_of(*plan), ElementsAre("context-switches", "cpu-migrations"));
  EXPECT_EQ(plan->events[0].sampled.mean_period, 1);
}

TEST(EventPlan, TakesLatencyFromTheCpuClock) {
  const FakeMachine machine = testing::amd_zen3();
  const auto plan = plan_events(assignment_of({"cpu-latency-ns"}), {}, FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->waits, ElementsAre("cpu-latency-ns"));
  EXPECT_THAT(names_of(*plan), ElementsAre("cpu-clock", "context-switches", "cpu-migrations"));
  const auto with_clock =
      plan_events(assignment_of({"cpu-latency-ns", "cpu-clock"}), {}, FakeEvents(machine));
  EXPECT_THAT(with_clock->missing, IsEmpty());
  EXPECT_THAT(names_of(*with_clock), ElementsAre("cpu-clock", "context-switches", "cpu-migrations"));
}

TEST(EventPlan, SaysWhichWaitsCannotBeHadAndGoesOn) {
  const FakeMachine machine = testing::amd_zen3();
  const auto plan =
      plan_events(assignment_of({"off-cpu-ns", "off-cpu-ns", "runnable-ns", "kernel-lock-wait-ns"}), {},
                  FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->waits, ElementsAre("off-cpu-ns"));
  ASSERT_THAT(missing_of(*plan), ElementsAre("off-cpu-ns", "runnable-ns", "kernel-lock-wait-ns"));
  EXPECT_THAT(plan->missing[0].reason(), HasSubstr("requested twice"));
  EXPECT_THAT(plan->missing[1].reason(), HasSubstr("sched:sched_wakeup"));
  EXPECT_THAT(plan->missing[2].reason(), HasSubstr("lock:contention_begin"));
  const FakeMachine without_tracefs = testing::vm_without_pmu();
  const auto none = plan_events(assignment_of({"runnable-ns"}), {}, FakeEvents(without_tracefs));
  EXPECT_FALSE(none.has_value());
}

TEST(EventPlan, AllowsWaitsByTheirNamesAlone) {
  const FakeMachine machine = testing::amd_zen3();
  const std::vector<std::string> allowed{"off-cpu-ns", "cpu-clock"};
  const auto plan =
      plan_events(assignment_of({"off-cpu-ns", "cpu-latency-ns"}), allowed, FakeEvents(machine));
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->waits, ElementsAre("off-cpu-ns"));
  ASSERT_THAT(missing_of(*plan), ElementsAre("cpu-latency-ns"));
  EXPECT_THAT(plan->notes, ::testing::Contains(HasSubstr("waits have no stacks")));
  wire::Assignment with_period = assignment_of({"off-cpu-ns"});
  with_period.mutable_events(0)->set_period(10);
  EXPECT_THAT(plan_events(with_period, {}, FakeEvents(machine)).error().message, HasSubstr("has no period"));
}

TEST(EventPlan, LeavesOutTheCoresThatLackAnEvent) {
  const FakeMachine machine = testing::intel_hybrid();
  FakeEvents events(machine);
  events.unsampled = {"cpu_atom"};
  const auto plan = plan_events(assignment_of({"LLC-loads"}), {}, events);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->events[0].sampled.type.codes.size(), 1);
  EXPECT_EQ(plan->events[0].sampled.type.codes[0].pmu, "cpu_core");
  EXPECT_THAT(plan->events[0].note, HasSubstr("not counted on the CPUs of cpu_atom"));
}

TEST(EventPlan, CountsWhatCannotBeSampled) {
  const FakeMachine machine = testing::intel_hybrid();
  FakeEvents events(machine);
  events.unsampled = {"cpu_core/event=0x3c/"};
  const auto plan = plan_events(
      assignment_of({"uncore_imc_0/cas_count_read/", "cpu_core/event=0x3c/", "cpu-clock"}), {}, events);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->counted.size(), 2);
  EXPECT_EQ(plan->counted[0].name, "uncore_imc_0/cas_count_read/");
  EXPECT_EQ(plan->counted[1].name, "cpu_core/event=0x3c/");
  EXPECT_THAT(plan->missing, IsEmpty());
}

struct RateCase {
  const char* event;
  double rate;
  uint64_t period;
};

TEST(EventPlan, LearnsTheRateOfEventsNobodyKnows) {
  const FakeMachine machine = testing::amd_zen3();
  FakeEvents events(machine);
  for (const RateCase& c : {
           RateCase{"cycles", 1, 30'000'000},   // as is known
           RateCase{"r1c2", 1e9, 10'000'000},   // for 100 samples a second
           RateCase{"r1c2", 1e20, 30'000'000},  // no more often than a CPU can
           RateCase{"r1c2", 0, 10'000},         // it may become frequent
           RateCase{"irq:irq_handler_entry", 0, 10},
           RateCase{"irq:irq_handler_entry", 1e4, 100},
       }) {
    events.rate = c.rate;
    const auto plan = plan_events(assignment_of({c.event}), {}, events);
    EXPECT_EQ(plan->events[0].sampled.mean_period, c.period) << c.event << " " << c.rate;
  }
  wire::Assignment own = assignment_of({"r1c2"});
  own.mutable_events(0)->set_period(7);
  EXPECT_EQ(plan_events(own, {}, events)->events[0].sampled.mean_period, 7);
  EXPECT_EQ(plan_events(own, {}, events)->events[0].followed_rate_hz, 0);
}

TEST(EventPlan, GivesEachSetSeveralTurnsWithinAWindow) {
  const FakeMachine machine = testing::amd_zen3();
  wire::Assignment assignment = assignment_of({"cycles", "llc-misses", "branch-misses"});
  assignment.mutable_events(1)->set_set(1);
  assignment.mutable_events(2)->set_set(1);
  const auto plan = plan_events(assignment, {}, FakeEvents(machine));
  EXPECT_EQ(count_sets(*plan), 2) << "companions belong to each";
  assignment.set_duration_ns(60'000'000'000);
  EXPECT_EQ(turn_ns(assignment, *plan), 1'000'000'000);
  assignment.set_turn_ns(3'000'000'000);
  EXPECT_EQ(turn_ns(assignment, *plan), 3'000'000'000);
  assignment.set_duration_ns(8'000'000'000);
  EXPECT_EQ(turn_ns(assignment, *plan), 1'000'000'000);
}

// Of two CPUs, in a window of a second.
perf::EventCounts counted_for(uint64_t first_ns, uint64_t second_ns) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  return perf::sum_of({{.value = 100, .time_enabled_ns = kSecondNs, .time_running_ns = first_ns},
                       {.value = 100, .time_enabled_ns = kSecondNs, .time_running_ns = second_ns}});
}

TEST(EventPlan, SaysOfEachEventWhenItWasCounted) {
  const FakeMachine machine = testing::amd_zen3();
  const std::vector<std::string> names{"cycles", "instructions", "branches", "llc-misses"};
  const auto plan = plan_events(assignment_of(names), names, FakeEvents(machine));
  wire::RawProfile profile;
  describe_events(*plan, 4, profile);
  ASSERT_EQ(profile.events_size(), 4);
  EXPECT_EQ(profile.events(0).mean_period(), 4 * 30'000'000) << "at a quarter of the rate";
  write_counts(*plan,
               std::vector{counted_for(250'000'000, 250'000'000), counted_for(0, 0),
                           counted_for(1'000'000'000, 1'000'000'000), counted_for(200'000'000, 600'000'000)},
               profile);
  EXPECT_EQ(profile.events(0).note(),
            "counted for 25 % of the window (there are fewer counters than events), and scaled to all of it");
  EXPECT_THAT(profile.events(1).note(), HasSubstr("never counted"));
  EXPECT_EQ(profile.events(2).note(), "");
  EXPECT_THAT(profile.events(3).note(), HasSubstr("20 % of the time on one CPU and 60 % on another"));
  ASSERT_EQ(profile.missing_events_size(), 1);
  EXPECT_EQ(profile.missing_events(0).name(), "instructions");
}

}  // namespace
}  // namespace plimsoll
