#include "store/draws/draw_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/draws/draw_outcome.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// For the time from 1,000 on, measured from 1,200 to 1,300, due at 1,400.
DrawWithMachines small_draw(const std::string& id, int64_t made_ns = 900) {
  DrawWithMachines draw;
  draw.draw = {.id = id,
               .made_ns = made_ns,
               .interval_start_ns = 1000,
               .interval_ns = 600,
               .window_start_ns = 1200,
               .window_ns = 100,
               .due_ns = 1400,
               .seed = 0xFEDC'BA98'7654'3210,
               .policy = "two of five",
               .collects = {},
               .strata = {{"platform=a", 4, 1, 1, 4}, {"platform=b", 1, 1, 1, 1}}};
  draw.draw.collects.add_events()->set_name("cycles");
  draw.machines = {{.machine_id = "m1", .stratum = 0, .inclusion_probability = 0.25, .window_start_ns = 1200},
                   {.machine_id = "m5", .stratum = 1, .inclusion_probability = 1}};
  return draw;
}

std::string text_of(const DrawWithMachines& draw) {
  std::string text = fmt::format(
      "{} made {} for {}+{} in {}+{} due {} seed {:x} by {} collects {}\n", draw.draw.id, draw.draw.made_ns,
      draw.draw.interval_start_ns, draw.draw.interval_ns, draw.draw.window_start_ns, draw.draw.window_ns,
      draw.draw.due_ns, draw.draw.seed, draw.draw.policy, draw.draw.collects.events(0).name());
  for (const DrawStratum& stratum : draw.draw.strata) {
    text += fmt::format("{}: {} of {}, {} expected, weight {}\n", stratum.name, stratum.drawn,
                        stratum.machines, stratum.expected, stratum.drawn_weight);
  }
  for (const DrawnMachine& machine : draw.machines) {
    text += fmt::format("{} of {} p {} in {} told {} said {} \"{}\" at {} answered {} observed {}\n",
                        machine.machine_id, machine.stratum, machine.inclusion_probability,
                        machine.window_start_ns, machine.told_ns, wire::AssignmentState_Name(machine.state),
                        machine.detail, machine.reported_ns, machine.answered_ns, machine.observed_ns);
  }
  return text;
}

class DrawStoreTest : public ::testing::Test {
 protected:
  DrawStore open(sqlite::OpenMode mode = sqlite::OpenMode::kReadWrite) {
    return *DrawStore::open(folder_ / "draws.db", mode);
  }
  std::vector<std::string> ids(const Result<std::vector<DrawWithMachines>>& draws) {
    std::vector<std::string> ids;
    for (const DrawWithMachines& draw : *draws) {
      ids.push_back(draw.draw.id);
    }
    return ids;
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(DrawStoreTest, WhatWasKeptIsReadBackAfterwards) {
  ASSERT_TRUE(open().add(small_draw("d1")));
  const auto draw = open(sqlite::OpenMode::kRead).draw("d1");
  ASSERT_TRUE(draw && *draw);
  EXPECT_EQ(
      text_of(**draw),
      "d1 made 900 for 1000+600 in 1200+100 due 1400 seed fedcba9876543210 by two of five collects cycles\n"
      "platform=a: 1 of 4, 1 expected, weight 4\n"
      "platform=b: 1 of 1, 1 expected, weight 1\n"
      "m1 of 0 p 0.25 in 1200 told 0 said ASSIGNMENT_UNSPECIFIED \"\" at 0 answered 0 observed 0\n"
      "m5 of 1 p 1 in 0 told 0 said ASSIGNMENT_UNSPECIFIED \"\" at 0 answered 0 observed 0\n");
  EXPECT_EQ((*draw)->draw.machines(), 5);
}

TEST_F(DrawStoreTest, HowItWasMadeIsReadBackOfADrawThatIsAskedFor) {
  DrawWithMachines draw = small_draw("d1");
  draw.draw.method.emplace().add_strata("platform");
  draw.draw.method->set_fraction(0.25);
  draw.draw.method->set_turns_seed(0xFEDC'BA98'7654'3210);
  ASSERT_TRUE(open().add(draw));
  ASSERT_TRUE(open().add(small_draw("older", 800)));
  EXPECT_EQ((*open().draw("d1"))->draw.method->SerializeAsString(), draw.draw.method->SerializeAsString());
  EXPECT_EQ((*open().draw("older"))->draw.method, std::nullopt);
  EXPECT_EQ((*open().newest(1))[0].draw.method, std::nullopt);
}

// "m1 heap 3/4 no answer x1" each.
std::string kinds_of(const DrawWithMachines& draw) {
  std::string text;
  for (const DrawnMachine& machine : draw.machines) {
    for (const wire::ApplicationKindReport& kind : machine.kinds) {
      text += fmt::format("{} {} {}/{} {} x{}\n", machine.machine_id, kind.kind(), kind.answered(),
                          kind.endpoints(), kind.cause(), kind.with_cause());
    }
  }
  return text;
}

wire::ApplicationKindReport kind_report(const std::string& kind, uint32_t answered) {
  wire::ApplicationKindReport report;
  report.set_kind(kind);
  report.set_endpoints(4);
  report.set_answered(answered);
  report.set_cause("no answer");
  report.set_with_cause(4 - answered);
  return report;
}

TEST_F(DrawStoreTest, AnsweredKindsAreKeptByMachineAndForgottenWithIt) {
  const DrawWithMachines draw = small_draw("d1");
  ASSERT_TRUE(open().add(draw));
  DrawnMachine machine = draw.machines[1];
  machine.kinds = {kind_report("heap", 3), kind_report("allocs", 1)};
  ASSERT_TRUE(open().update_kinds("d1", machine));
  EXPECT_EQ(kinds_of(**open(sqlite::OpenMode::kRead).draw("d1")),
            "m5 allocs 1/4 no answer x3\nm5 heap 3/4 no answer x1\n");
  machine.kinds = {kind_report("heap", 2)};
  ASSERT_TRUE(open().update_kinds("d1", machine));
  EXPECT_EQ(kinds_of(**open(sqlite::OpenMode::kRead).draw("d1")), "m5 heap 2/4 no answer x2\n");
  ASSERT_TRUE(open().forget_machines(1500));
  EXPECT_EQ(*sqlite::Database::open(folder_ / "draws.db", sqlite::OpenMode::kRead)
                 ->integer("SELECT count(*) FROM drawn_kind", -1),
            0);
}

TEST_F(DrawStoreTest, ADamagedMethodIsNotTakenForNone) {
  ASSERT_TRUE(open().add(small_draw("d1")));
  auto database = sqlite::Database::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(database->run("INSERT INTO draw_method VALUES ('d1', x'ff')"));
  EXPECT_EQ(open().draw("d1").error().code, ErrorCode::kCorrupt);
}

TEST_F(DrawStoreTest, AnOlderVersionsFileIsReadBeforeItsWriterHasOpenedIt) {
  ASSERT_TRUE(open().add(small_draw("d1")));
  auto database = sqlite::Database::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(database->run("DROP TABLE draw_method"));
  ASSERT_TRUE(database->run("DROP TABLE drawn_kind"));
  const auto draw = open(sqlite::OpenMode::kRead).draw("d1");
  ASSERT_TRUE(draw && *draw);
  EXPECT_EQ((*draw)->draw.method, std::nullopt);
}

TEST_F(DrawStoreTest, ADrawIsMadeOnce) {
  DrawStore store = open();
  ASSERT_TRUE(store.add(small_draw("d1")));
  const Status again = store.add(small_draw("d1", 950));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  EXPECT_EQ((*store.draw("d1"))->draw.made_ns, 900);
  EXPECT_EQ(*store.count(), 1);
}

TEST_F(DrawStoreTest, OfADrawThatCannotBeKeptInFullNothingIs) {
  DrawStore store = open();
  DrawWithMachines twice = small_draw("d1");
  twice.machines.push_back(twice.machines.front());
  EXPECT_FALSE(store.add(twice));
  EXPECT_EQ(*store.draw("d1"), std::nullopt);
  EXPECT_TRUE(store.add(small_draw("d1")));
}

TEST_F(DrawStoreTest, WhatBecameOfAMachineIsKept) {
  DrawStore store = open();
  ASSERT_TRUE(store.add(small_draw("d1")));
  DrawnMachine machine = small_draw("d1").machines[1];
  machine.told_ns = 1100;
  machine.reported_ns = 1350;
  machine.state = wire::FAILED;
  machine.detail = "no PMU";
  machine.answered_ns = 1360;
  machine.observed_ns = 80;
  ASSERT_TRUE(store.update("d1", machine));
  machine.machine_id = "was not drawn";
  ASSERT_TRUE(store.update("d1", machine));
  EXPECT_THAT(text_of(**store.draw("d1")),
              ::testing::EndsWith(
                  "m5 of 1 p 1 in 0 told 1100 said FAILED \"no PMU\" at 1350 answered 1360 observed 80\n"));
  EXPECT_EQ((*store.machine("d1", "m5"))->detail, "no PMU");
  EXPECT_EQ(*store.machine("d1", "m2"), std::nullopt);
  EXPECT_EQ(*store.machine("d2", "m5"), std::nullopt);
}

TEST_F(DrawStoreTest, AMachinesDrawIsWhatItsProfilesSayOfIt) {
  DrawStore store = open();
  ASSERT_TRUE(store.add(small_draw("d1")));
  const auto drawn = *store.draw_of("d1", "m1");
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->SerializeAsString(),
            wire_draw(small_draw("d1").draw, small_draw("d1").machines[0]).SerializeAsString());
  EXPECT_EQ(drawn->stratum(), "platform=a");
  EXPECT_EQ(drawn->inclusion_probability(), 0.25);
  EXPECT_EQ(*store.draw_of("d1", "m2"), std::nullopt);
}

TEST_F(DrawStoreTest, DrawsAreFoundByTime) {
  DrawStore store = open();
  EXPECT_EQ(*store.drawn_until_ns(), 0);
  for (const int64_t made_ns : {100, 300, 200}) {
    DrawWithMachines draw = small_draw(fmt::format("d{}", made_ns), made_ns);
    draw.draw.due_ns = made_ns + 50;
    ASSERT_TRUE(store.add(draw));
  }
  EXPECT_THAT(ids(store.newest(2)), ElementsAre("d300", "d200"));
  EXPECT_THAT(ids(store.open_draws(249)), ElementsAre("d200", "d300"));
  EXPECT_THAT(ids(store.open_draws(350)), IsEmpty());
  EXPECT_EQ(*store.drawn_until_ns(), 1600);
}

TEST_F(DrawStoreTest, WhoStandsForHowManyOutlivesTheListOfMachines) {
  DrawStore store = open();
  ASSERT_TRUE(store.add(small_draw("d1")));
  ASSERT_TRUE(store.forget_machines(1400));
  EXPECT_EQ((*store.draw("d1"))->machines.size(), 2);
  ASSERT_TRUE(store.forget_machines(1401));
  EXPECT_THAT((*store.draw("d1"))->machines, IsEmpty());
  const auto weights = *store.drawn_weights("d1");
  ASSERT_EQ(weights.size(), 2);
  EXPECT_EQ(weights[0].stratum, "platform=a");
  EXPECT_EQ(weights[0].machines, 1);
  EXPECT_EQ(weights[0].weight, 4);
  EXPECT_THAT(*store.drawn_weights("d2"), IsEmpty());
}

TEST_F(DrawStoreTest, TheSeedIsMadeUpOnce) {
  const uint64_t seed = *open().seed();
  EXPECT_EQ(*open().seed(), seed);
  plimsoll::testing::TemporaryDirectory other;
  EXPECT_NE(*DrawStore::open(other / "draws.db", sqlite::OpenMode::kReadWrite)->seed(), seed);
}

TEST_F(DrawStoreTest, ADirectoryThatWasNeverDrawnFromHasNone) {
  EXPECT_EQ(DrawStore::open_if_there(folder_ / "draws.db")->has_value(), false);
  open();
  EXPECT_EQ(DrawStore::open_if_there(folder_ / "draws.db")->has_value(), true);
}

// What becomes of a machine with this fate, at a time.
std::string_view outcome(DrawnMachine fate, int64_t now_ns = 2000) {
  fate.window_start_ns = 1200;
  return name_of(outcome_of(small_draw("d1").draw, fate, now_ns));
}

TEST(DrawOutcome, AnAnswerIsWhatItCoversAndWhenItCame) {
  EXPECT_EQ(outcome({.answered_ns = 1310, .observed_ns = 100}), "answered");
  EXPECT_EQ(outcome({.answered_ns = 1400, .observed_ns = 95}), "answered");
  EXPECT_EQ(outcome({.answered_ns = 1310, .observed_ns = 94}), "partial");
  EXPECT_EQ(outcome({.answered_ns = 1401, .observed_ns = 94}), "late");
  // Whatever the machine says besides.
  EXPECT_EQ(outcome({.state = wire::FAILED, .answered_ns = 1310, .observed_ns = 100}), "answered");
}

TEST(DrawOutcome, WhoeverHasNoWindowIsWithheld) {
  EXPECT_EQ(name_of(outcome_of(small_draw("d1").draw, {}, 1000)), "withheld");
  EXPECT_EQ(name_of(outcome_of(small_draw("d1").draw, {}, 2000)), "withheld");
}

TEST(DrawOutcome, BeforeItIsDueOnlyAMachineCanSayThatNothingWillCome) {
  EXPECT_EQ(outcome({}, 1399), "pending");
  EXPECT_EQ(outcome({.told_ns = 1100, .state = wire::RUNNING}, 1399), "pending");
  EXPECT_EQ(outcome({.told_ns = 1100, .state = wire::REFUSED}, 1100), "refused");
  EXPECT_EQ(outcome({.told_ns = 1100, .state = wire::FAILED}, 1100), "failed");
}

TEST(DrawOutcome, AfterwardsItIsSaidHowFarItCame) {
  EXPECT_EQ(outcome({}), "unreached");
  EXPECT_EQ(outcome({.told_ns = 1100}), "vanished");
  EXPECT_EQ(outcome({.told_ns = 1100, .reported_ns = 1299, .state = wire::RUNNING}), "vanished");
  EXPECT_EQ(outcome({.told_ns = 1100, .reported_ns = 1300, .state = wire::RUNNING}), "lost");
  EXPECT_EQ(outcome({.told_ns = 1100, .reported_ns = 1299, .state = wire::DONE}), "lost");
}

}  // namespace
}  // namespace plimsoll::store
