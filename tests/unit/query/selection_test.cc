#include "query/selection/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "query/selection/weights.h"
#include "tests/start.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kNoonNs;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What an engine of another process is told of a filter.

TEST(Selection, ValuesThatAreAskedForStandBesideTheIdsThatHaveThem) {
  Fleet fleet;
  fleet.add({.seed = 1, .machine = "m1", .job = "web"});
  fleet.add({.seed = 2, .machine = "m2", .job = "db"});
  const auto snapshot = *Snapshot::load(fleet.path());
  Selection selection;
  selection.since_ns = 5;
  selection.where = {*Predicate::parse("job=web"), *Predicate::parse("job!=cache"),
                     *Predicate::parse("machine in m1,m3"), *Predicate::parse("thread=~."),
                     *Predicate::parse("function=main")};
  const auto resolved = resolve(selection, *snapshot);
  ASSERT_TRUE(resolved) << resolved.error().text();
  const store::RowFilter& filter = resolved->request.filter;
  const store::IdSelection* const workloads = filter[Column::kWorkload].selection();
  ASSERT_NE(workloads, nullptr);
  EXPECT_TRUE(workloads->among.is_all());
  EXPECT_THAT(
      workloads->conditions,
      ElementsAre(store::EntryCondition{.dimension = "job", .values = {"web"}},
                  store::EntryCondition{.dimension = "job", .values = {"cache"}, .is_negated = true}));
  const store::IdSelection* const origins = filter[Column::kOrigin].selection();
  ASSERT_NE(origins, nullptr);
  EXPECT_TRUE(origins->among.is_all());
  EXPECT_EQ(origins->middle, (store::TimeSpan{5, INT64_MAX}));
  const store::EntryCondition of_policy{
      .dimension = "draw", .values = {"order-"}, .are_prefixes = true, .is_negated = true};
  EXPECT_THAT(origins->conditions,
              ElementsAre(of_policy, store::EntryCondition{.dimension = "machine", .values = {"m1", "m3"}}));
  EXPECT_EQ(filter[Column::kThread].selection(), nullptr) << "a regular expression is ours alone";
  EXPECT_EQ(filter[Column::kStack].selection(), nullptr) << "frames are in no dictionary entry";
}

// Events.

TEST(Selection, CyclesAreTheDefaultEventThenCpuClockThenTheFirst) {
  Fleet fleet;
  fleet.add({.seed = 1, .events = {{.name = "page-faults"}}, .stacks = "fault 1\n"});
  EXPECT_EQ(brief(fleet.top({})), "fault 1 1\n");
  fleet.add({.seed = 2, .events = {{.name = "cpu-clock"}}, .stacks = "tick 2\n"});
  EXPECT_EQ(brief(fleet.top({})), "tick 2 2\n");
  fleet.add({.seed = 3, .events = {{.name = "cycles"}}, .stacks = "spin 3\n"});
  EXPECT_EQ(brief(fleet.top({})), "spin 3 3\n");
  EXPECT_EQ(brief(fleet.top({{"event", "page-faults"}})), "fault 1 1\n");
}

TEST(Selection, AnEventIsFoundWithoutItsModifiersIfItIsTheOnlyOne) {
  Fleet fleet;
  fleet.add({.seed = 1, .events = {{.name = "page-faults"}}, .stacks = "fault 1\n"});
  fleet.add({.seed = 2, .events = {{.name = "cycles:pp"}}, .stacks = "spin 2\n"});
  EXPECT_EQ(brief(fleet.top({{"event", "cycles"}})), "spin 2 2\n");
  EXPECT_EQ(brief(fleet.top({})), "spin 2 2\n");
  fleet.add({.seed = 3, .events = {{.name = "cycles:u"}}, .stacks = "user 3\n"});
  EXPECT_FALSE(fleet.top({{"event", "cycles"}}));
  EXPECT_EQ(brief(fleet.top({{"event", "cycles:u"}})), "user 3 3\n");
  fleet.add({.seed = 4, .events = {{.name = "cycles"}}, .stacks = "all 4\n"});
  EXPECT_EQ(brief(fleet.top({{"event", "cycles"}})), "all 4 4\n");
}

TEST(Selection, AnUnknownEventSaysWhichThereAre) {
  Fleet fleet;
  fleet.add({.stacks = "main 1\nevent=page-faults main 1\n"});
  const auto table = fleet.top({{"event", "cylces"}});
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(table.error().field, "event");
  EXPECT_THAT(table.error().message, HasSubstr("\"cylces\""));
  EXPECT_EQ(table.error().hint, "events with samples: cycles, page-faults");
}

TEST(Selection, AnEmptyStoreSaysWhatToDo) {
  const Fleet fleet;
  for (const char* event : {"", "cycles"}) {
    const auto table = fleet.top({{"event", event}});
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(table.error().message, "no profiles yet");
    EXPECT_THAT(table.error().hint, HasSubstr("plimsoll import"));
  }
}

// Times.

struct TimeCase {
  const char* since;  // "" where not given
  const char* until;
  const char* answer;
};

class SelectionTimes : public ::testing::TestWithParam<TimeCase> {};

TEST_P(SelectionTimes, AProfileIsOfTheTimeThatItsMiddleIsIn) {
  Fleet fleet;  // 12:00:00 to 12:00:10, and from there to 12:00:20
  fleet.add({.seed = 1, .from_ns = kNoonNs, .length_ns = 10 * kNsPerSecond, .stacks = "first 2\n"});
  fleet.add({.seed = 2,
             .from_ns = kNoonNs + 10 * kNsPerSecond,
             .length_ns = 10 * kNsPerSecond,
             .stacks = "second 1\n"});
  Parameters parameters;
  for (const auto& [name, time] : {std::pair("since", GetParam().since), {"until", GetParam().until}}) {
    if (*time != '\0') {
      parameters.emplace_back(name, fmt::format("2023-11-15T{}Z", time));
    }
  }
  EXPECT_EQ(brief(fleet.top(parameters)), GetParam().answer);
}

INSTANTIATE_TEST_SUITE_P(Ranges, SelectionTimes,
                         ::testing::Values(TimeCase{"", "", "first 2 2\nsecond 1 1\n"},
                                           TimeCase{"12:00:05", "", "first 2 2\nsecond 1 1\n"},
                                           TimeCase{"12:00:05.000000001", "", "second 1 1\n"},
                                           TimeCase{"12:00:15", "", "second 1 1\n"},
                                           TimeCase{"12:00:20", "", ""}, TimeCase{"", "12:00:05", ""},
                                           TimeCase{"", "12:00:05.000000001", "first 2 2\n"},
                                           TimeCase{"", "12:00:15", "first 2 2\n"},  // until is exclusive
                                           TimeCase{"12:00:03", "12:00:04", ""},
                                           TimeCase{"12:00:04", "12:00:16", "first 2 2\nsecond 1 1\n"}));

TEST(SelectionTimes, TwoTimesThatMeetShareNoProfile) {
  Fleet fleet;
  fleet.add({.seed = 1, .from_ns = kNoonNs, .length_ns = 10 * kNsPerSecond, .stacks = "main 2\n"});
  const auto before = fleet.top({{"until", "2023-11-15T12:00:04Z"}});
  const auto after = fleet.top({{"since", "2023-11-15T12:00:04Z"}});
  EXPECT_EQ(brief(before), "");
  EXPECT_EQ(brief(after), "main 2 2\n");
  EXPECT_THAT(
      after->notes,
      ElementsAre(
          "1 of 1 profiles cross a boundary of the time range: a profile counts where its middle is"));
}

// Coverage.

wire::RawProfile with_losses(ProfileSpec spec, uint64_t lost, const std::string& note) {
  wire::RawProfile profile = make_profile(spec);
  profile.mutable_events(0)->set_lost(lost);
  profile.mutable_events(0)->set_note(note);
  return profile;
}

class SelectionCoverage : public ::testing::Test {
 protected:
  SelectionCoverage() {
    fleet_.add(
        with_losses({.seed = 1, .machine = "m1", .from_ns = kNoonNs, .stacks = "main 5\n\"\" 5\n"}, 3, ""));
    fleet_.add(with_losses({.seed = 2,
                            .machine = "m2",
                            .from_ns = kNoonNs + 5 * kNsPerSecond,
                            .stacks = "main 10\nevent=faults main 7\n"},
                           4, "no PMU: cpu-clock stands in for cycles"));
    fleet_.add(with_losses({.seed = 3, .machine = "m2", .from_ns = kNoonNs + 2 * kNsPerSecond, .stacks = ""},
                           1, "no PMU: cpu-clock stands in for cycles"));
  }

  Coverage coverage(const Parameters& parameters) const {
    const auto table = fleet_.top(parameters);
    EXPECT_TRUE(table) << table.error().text();
    return table ? table->coverage : Coverage();
  }

  Fleet fleet_;
};

TEST_F(SelectionCoverage, SaysWhatTheAnswerStandsOn) {
  const Coverage all = coverage({});
  EXPECT_EQ(format_time(all.from_ns), "2023-11-15T12:00:00Z");
  EXPECT_EQ(format_time(all.to_ns), "2023-11-15T12:00:06Z");
  EXPECT_EQ(all.machines_drawn, 2);
  EXPECT_EQ(all.samples, 20);
  EXPECT_EQ(all.lost, 8);
  EXPECT_DOUBLE_EQ(all.unsymbolized_share, 0.25);
}

TEST_F(SelectionCoverage, CountsOnlyWhatWasSelected) {
  const Coverage one = coverage({{"where", "machine=m1"}});
  EXPECT_EQ(format_time(one.to_ns), "2023-11-15T12:00:01Z");
  EXPECT_EQ(one.machines_drawn, 1);
  EXPECT_EQ(one.samples, 10);
  EXPECT_EQ(one.lost, 3);
  EXPECT_DOUBLE_EQ(one.unsymbolized_share, 0.5);

  const Coverage faults = coverage({{"event", "faults"}});
  EXPECT_EQ(format_time(faults.from_ns), "2023-11-15T12:00:05Z");
  EXPECT_EQ(faults.machines_drawn, 1);
  EXPECT_EQ(faults.samples, 7);
  EXPECT_EQ(faults.lost, 0);
  EXPECT_EQ(faults.unsymbolized_share, 0);
}

TEST_F(SelectionCoverage, LocationsWithoutASymbolAreUnsymbolizedOnlyAsLeaves) {
  Fleet fleet;
  wire::RawProfile profile = make_profile({.stacks = "main;work 3\n"});
  wire::Binary library;
  library.set_path("/usr/lib/libz.so.1");
  add_sample(profile, library, wire::ELF, 0x1000, 1);
  // work() called from the library: the leaf has a name.
  profile.mutable_stacks()->add_parent(3);
  profile.mutable_stacks()->add_location(1);
  profile.mutable_samples(0)->add_thread(0);
  profile.mutable_samples(0)->add_stack(4);
  profile.mutable_samples(0)->add_hits(4);
  profile.mutable_events(0)->set_hits(8);
  profile.mutable_events(0)->set_counter_total(8);
  fleet.add(profile);
  const auto table = fleet.top({{"by", "stack"}});
  EXPECT_EQ(brief(table),
            "[no symbol in libz.so.1];work 4 4\n"
            "main;work 3 3\n"
            "[no symbol in libz.so.1] 1 1\n");
  EXPECT_DOUBLE_EQ(table->coverage.unsymbolized_share, 1.0 / 8);
}

TEST_F(SelectionCoverage, MachinesLiveAreThoseRegisteredOrElseThoseDrawn) {
  EXPECT_EQ(coverage({}).machines_live, 2);
  for (const char* id : {"m1", "m2", "m3", "m4"}) {
    fleet_.register_machine(id);
  }
  EXPECT_EQ(coverage({}).machines_live, 4);
  EXPECT_EQ(coverage({}).machines_drawn, 2);
}

TEST_F(SelectionCoverage, NotesOfStandInEventsAreGivenOnce) {
  EXPECT_THAT(fleet_.top({})->notes, ElementsAre("no PMU: cpu-clock stands in for cycles"));
  EXPECT_THAT(fleet_.top({{"where", "machine=m1"}})->notes, IsEmpty());
}

// Weights: what a hit of a sampled machine stands for.

// Ten seconds of a draw, whatever the machine.
wire::RawProfile drawn(ProfileSpec spec, const std::string& draw, double probability, int64_t interval_s) {
  spec.length_ns = 10 * kNsPerSecond;
  wire::RawProfile profile = make_profile(spec);
  wire::Draw& message = *profile.mutable_assignment()->mutable_draw();
  message.set_id(draw);
  message.set_inclusion_probability(probability);
  message.set_interval_ns(interval_s * kNsPerSecond);
  return profile;
}

TEST(SelectionWeights, AHitStandsForTheMachinesNotDrawnAndTheTimeNotObserved) {
  Fleet fleet;
  fleet.add(drawn({.seed = 1, .machine = "m1", .stacks = "rare 3\n"}, "nightly", 0.1, 20));
  fleet.add(drawn({.seed = 2, .machine = "m2", .stacks = "often 3\n"}, "hourly", 0.5, 20));
  fleet.add(drawn({.seed = 3, .machine = "m3", .stacks = "window 3\n"}, "hourly", 0.5, 0));
  fleet.add(make_profile({.seed = 4, .machine = "m4", .stacks = "undrawn 3\n"}));
  const auto table = fleet.top({{"by", "draw,function"}});
  EXPECT_EQ(brief(table),
            "nightly rare 60 60\n"  // x 10 x 2
            "hourly often 12 12\n"  // x 2 x 2
            "hourly window 6 6\n"   // x 2: the interval is the window
            "- undrawn 3 3\n");     // as it was
  EXPECT_EQ(table->coverage.samples, 12) << "samples are counted, not weighted";
}

TEST(SelectionWeights, WhatWasMeasuredByOrderIsThereForWhoeverAsksForIt) {
  Fleet fleet;
  fleet.add(drawn({.seed = 1, .machine = "m1", .stacks = "usual 3\n"}, "fleet-1", 0.5, 10));
  fleet.add(drawn({.seed = 2, .machine = "m1", .stacks = "wanted 3\n"}, "order-1", 0.5, 10));
  EXPECT_EQ(brief(fleet.top({})), "usual 6 6\n");
  EXPECT_EQ(brief(fleet.top({{"where", "draw!=fleet-1"}})), "") << "not asked for";
  EXPECT_EQ(brief(fleet.top({{"where", "draw=order-1"}})), "wanted 6 6\n");
  EXPECT_EQ(brief(fleet.top({{"where", "draw=~."}, {"by", "draw"}})), "fleet-1 6 6\norder-1 6 6\n");
}

TEST(SelectionWeights, WeightOfAnOriginIsItsExpansion) {
  const auto weight = [](double probability, int64_t observed_ns, int64_t interval_ns) {
    return weight_of({.machine = 1,
                      .from_ns = kNoonNs,
                      .to_ns = kNoonNs + observed_ns,
                      .draw = "d",
                      .inclusion_probability = probability,
                      .interval_ns = interval_ns},
                     observed_ns);
  };
  EXPECT_DOUBLE_EQ(weight(1, 10, 0), 1);
  EXPECT_DOUBLE_EQ(weight(0.1, 10, 0), 10);
  EXPECT_DOUBLE_EQ(weight(1, 10, 3600), 360);
  EXPECT_DOUBLE_EQ(weight(0.25, 10, 20), 8);
}

TEST(SelectionWeights, WindowsOfOneMachineShareTheWeightOfADraw) {
  Fleet fleet;  // windows of 10 s
  fleet.add(drawn({.seed = 1, .machine = "m1", .stacks = "split 3\n"}, "hourly", 0.5, 40));
  fleet.add(drawn({.seed = 2, .machine = "m1", .stacks = "split 5\n"}, "hourly", 0.5, 40));
  fleet.add(drawn({.seed = 3, .machine = "m2", .stacks = "whole 4\n"}, "hourly", 0.5, 40));
  EXPECT_EQ(brief(fleet.top({{"by", "machine,function"}})),
            "m1 split 32 32\n"    // 8 x 2 x 40 / 20
            "m2 whole 32 32\n");  // 4 x 2 x 40 / 10
}

TEST(SelectionWeights, TheScaleComesFromTheCountersOverTheTimeTheyRan) {
  Fleet fleet;
  wire::RawProfile profile = make_profile({.stacks = "main 4\n"});
  profile.mutable_events(0)->set_counter_total(1000);
  profile.mutable_events(0)->set_time_enabled_ns(30);
  profile.mutable_events(0)->set_time_running_ns(10);
  fleet.add(profile);
  EXPECT_EQ(brief(fleet.top({})), "main 3000 3000\n");
}

TEST(SelectionWeights, AClockSharesItsTimeWithTheTicksThatFoundTheMachineIdle) {
  Fleet fleet;
  wire::RawProfile profile =
      make_profile({.events = {{.name = "cpu-clock", .unit = wire::NANOSECONDS}}, .stacks = "main 4\n"});
  profile.mutable_events(0)->set_counter_total(1000);
  profile.mutable_events(0)->set_ticks_due(12);
  profile.mutable_events(0)->set_lost(2);
  fleet.add(profile);
  EXPECT_EQ(brief(fleet.top({})), "main 500 500\n");  // 6 of 12
}

}  // namespace
}  // namespace plimsoll::query
