// Machines that were drawn and sent nothing, in what is asked of those that did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "query/selection/unanswered.h"
#include "store/draws/draw_store.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class ResponsesTest : public ::testing::Test {
 protected:
  // A draw of strata with so many machines each, of which so many were drawn.
  struct Stratum {
    std::string name;
    int64_t machines = 0;
    int64_t drawn = 0;
  };
  void draw(const std::string& id, const std::vector<Stratum>& strata) {
    store::DrawWithMachines made;
    made.draw.id = id;
    for (const Stratum& stratum : strata) {
      made.draw.strata.push_back({.name = stratum.name,
                                  .machines = stratum.machines,
                                  .expected = static_cast<double>(stratum.drawn),
                                  .drawn = stratum.drawn,
                                  .drawn_weight = static_cast<double>(stratum.machines)});
    }
    auto store = store::DrawStore::open(fleet_.path() + "/draws.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(store->add(made));
  }
  // A machine's profile: so many cycles in the whole of the draw's interval.
  void answer(const std::string& draw, const std::string& machine, const Stratum& stratum, int cycles) {
    wire::RawProfile profile = make_profile({.seed = ++seed_,
                                             .machine = machine,
                                             .length_ns = 1'000'000'000,
                                             .stacks = fmt::format("main;{} {}\n", machine, cycles)});
    wire::Draw& of = *profile.mutable_assignment()->mutable_draw();
    of.set_id(draw);
    of.set_stratum(stratum.name);
    of.set_inclusion_probability(static_cast<double>(stratum.drawn) / static_cast<double>(stratum.machines));
    of.set_interval_ns(1'000'000'000);
    fleet_.add(profile);
  }
  // The profile of an application on a machine: so long a wait for locks in the whole of the draw's interval.
  void answer_of_application(const std::string& draw, const std::string& machine, const Stratum& stratum,
                             int wait_ns) {
    wire::RawProfile profile = make_profile({.seed = ++seed_,
                                             .machine = machine,
                                             .length_ns = 1'000'000'000,
                                             .events = {{.name = "lock-wait-ns", .unit = wire::NANOSECONDS}},
                                             .stacks = fmt::format("main;{} {}\n", machine, wait_ns)});
    profile.mutable_assignment()->set_id("scrape:127.0.0.1:6060/contention");
    wire::Draw& of = *profile.mutable_assignment()->mutable_draw();
    of.set_id(draw);
    of.set_stratum(stratum.name);
    of.set_inclusion_probability(static_cast<double>(stratum.drawn) / static_cast<double>(stratum.machines));
    of.set_interval_ns(1'000'000'000);
    fleet_.add(profile);
  }
  double total(const Parameters& parameters = {}) const {
    const auto table = fleet_.top(parameters);
    double sum = 0;
    for (const auto& row : table->rows) {
      sum += std::get<double>(row[column_of(*table, "self")]);
    }
    return sum;
  }

  Fleet fleet_;
  uint64_t seed_ = 0;
};

TEST_F(ResponsesTest, ThoseThatAnsweredStandForAllOfTheirStratum) {
  const Stratum a{"a", 12, 4};
  const Stratum b{"b", 6, 3};
  draw("d1", {a, b});
  for (const char* machine : {"a1", "a2", "a3", "a4"}) {
    answer("d1", machine, a, 10);
  }
  answer("d1", "b1", b, 100);
  // b1 alone stands for the two silent ones as well: for 6 machines, not for 2.
  EXPECT_DOUBLE_EQ(total(), 12 * 10 + 6 * 100);
  EXPECT_THAT(fleet_.top({})->notes, Contains(HasSubstr("2 of 7 drawn machines")));
  // Whatever is asked about.
  EXPECT_DOUBLE_EQ(total({{"where", "machine=b1"}}), 600);
  EXPECT_DOUBLE_EQ(total({{"where", "machine=a1"}}), 30);
  EXPECT_THAT(fleet_.top({{"where", "machine=a1"}})->notes, Not(Contains(HasSubstr("drawn"))));
}

TEST_F(ResponsesTest, ASilentStratumIsStoodForByItsNeighbourInTheSameDraw) {
  const Stratum a{"a", 10, 2};
  const Stratum b{"b", 30, 3};
  draw("d1", {a, b});
  draw("d2", {a, b});
  answer("d1", "a1", a, 1);
  answer("d1", "a2", a, 1);
  answer("d2", "a1", a, 1);
  answer("d2", "a2", a, 1);
  answer("d2", "b1", b, 1);
  EXPECT_DOUBLE_EQ(total(), 40 + 40) << "each draw speaks for all machines of its time";
  EXPECT_THAT(fleet_.top({})->notes, Contains(HasSubstr("5 of 10 drawn machines")));
}

TEST_F(ResponsesTest, WhatIsOfNoKnownDrawAnswersForItself) {
  draw("another", {{"a", 100, 10}});
  answer("unknown", "m1", {"a", 4, 2}, 10);
  fleet_.add({.seed = 77, .machine = "continuous", .stacks = "main;always 5\n"});
  EXPECT_DOUBLE_EQ(total(), 2 * 10 + 5);
}

TEST_F(ResponsesTest, AnswersOfMachinesAndOfTheirApplicationsAreCountedApart) {
  const Stratum a{"a", 8, 4};
  draw("d1", {a});
  answer("d1", "sampled-1", a, 10);
  answer_of_application("d1", "scraped-1", a, 100);
  answer("d1", "sampled-2", a, 10);
  answer_of_application("d1", "scraped-2", a, 100);
  // Two of the four sampled, and stand for all eight machines. All four answered for their applications, two of them with none.
  const Parameters cycles{{"event", "cycles"}};
  const Parameters waits{{"event", "lock-wait-ns"}};
  EXPECT_DOUBLE_EQ(total(cycles), 8 * 10);
  EXPECT_DOUBLE_EQ(total(waits), 4 * 100);
  EXPECT_THAT(fleet_.top(cycles)->notes, Contains(HasSubstr("2 of 4 drawn machines sent no profile")));
  EXPECT_THAT(fleet_.top(waits)->notes, Not(Contains(HasSubstr("sent no profile"))));
}

TEST_F(ResponsesTest, AMachineThatAnswersForItselfAndItsApplicationsIsOneAnswerToEach) {
  const Stratum a{"a", 4, 2};
  draw("d1", {a});
  // In either order.
  answer("d1", "m1", a, 10);
  answer_of_application("d1", "m1", a, 100);
  answer_of_application("d1", "m2", a, 100);
  answer("d1", "m2", a, 10);
  const Parameters cycles{{"event", "cycles"}};
  const Parameters waits{{"event", "lock-wait-ns"}};
  EXPECT_DOUBLE_EQ(total(cycles), 4 * 10);
  EXPECT_DOUBLE_EQ(total(waits), 4 * 100);
  for (const Parameters& question : {cycles, waits}) {
    EXPECT_THAT(fleet_.top(question)->notes, Not(Contains(HasSubstr("sent no profile"))));
  }
}

store::DrawnMachine withheld(const std::string& id, const std::string& why) {
  return {.machine_id = id, .detail = why};
}

// A draw of one stratum whose results are due.
store::DrawWithMachines draw_of(const std::vector<store::DrawnMachine>& machines) {
  return {.draw = {.id = "d1", .window_ns = 1000, .due_ns = 5000, .strata = {{.name = "a"}}},
          .machines = machines};
}

constexpr const char* kOverBudget =
    "over the overhead budget: daemons use 0.02 % of the fleet's CPU time, max 0.01 % "
    "(draw.max_overhead_percent)";
constexpr const char* kOverBudgetLater =
    "over the overhead budget: daemons use 0.013 % of the fleet's CPU time, max 0.01 % "
    "(draw.max_overhead_percent)";
const store::DrawnMachine kAnswered{.machine_id = "m0", .window_start_ns = 1000, .answered_ns = 2500};
const store::DrawnMachine kOffline{.machine_id = "m9", .window_start_ns = 1000};

TEST(CommonestCause, IsNamedWithItsSettingWhereCausesAreMixed) {
  const store::DrawWithMachines draw =
      draw_of({kAnswered, withheld("m1", kOverBudget), withheld("m2", kOverBudgetLater), kOffline});
  const CommonestCause cause = commonest_cause({&draw, 1}, {{"d1", "a"}}, 6000);
  EXPECT_EQ(
      unanswered_text(3, 8, cause),
      "3 of 8 drawn machines sent no profile: most (2) were withheld: over the overhead budget "
      "(draw.max_overhead_percent) (see plimsoll draws); other machines of their strata are weighted up for "
      "them");
}

TEST(CommonestCause, IsOfAllWhereItIsTheOnlyOne) {
  const store::DrawWithMachines draw = draw_of({kAnswered, kOffline});
  const CommonestCause cause = commonest_cause({&draw, 1}, {{"d1", "a"}}, 6000);
  EXPECT_THAT(
      unanswered_text(1, 2, cause),
      HasSubstr("1 of 2 drawn machines sent no profile: all (1) were offline until their window had ended"));
  EXPECT_THAT(commonest_cause({&draw, 1}, {{"d1", "a"}}, 4000).text, "may still answer")
      << "it is not due yet";
}

TEST(CommonestCause, IsLeftOutWhereNoneIsKnown) {
  const store::DrawWithMachines forgotten = draw_of({});
  const CommonestCause cause = commonest_cause({&forgotten, 1}, {{"d1", "a"}}, 6000);
  EXPECT_THAT(unanswered_text(3, 8, cause),
              ::testing::StartsWith("3 of 8 drawn machines sent no profile (see"));
}

TEST(CommonestCause, IsOfTheStrataThatAreAskedAboutAndOfSilentOnes) {
  store::DrawWithMachines draw = draw_of({withheld("m1", kOverBudget), kOffline, kAnswered});
  draw.draw.strata = {{.name = "silent"}, {.name = "other"}, {.name = "asked about"}};
  draw.machines[1].stratum = 1;
  draw.machines[2].stratum = 1;
  const CommonestCause cause = commonest_cause({&draw, 1}, {{"d1", "asked about"}}, 6000);
  EXPECT_EQ(cause.unanswered, 1U)
      << "other machines stand for the silent stratum; the other one answers for itself";
  EXPECT_THAT(cause.text, HasSubstr("(draw.max_overhead_percent)"));
}

TEST_F(ResponsesTest, TheNoteOfAViewHasTheCause) {
  const Stratum a{"a", 12, 4};
  store::DrawWithMachines made =
      draw_of({withheld("a2", kOverBudget), withheld("a3", kOverBudget), kOffline});
  made.draw.strata = {{.name = "a", .machines = 12, .expected = 4, .drawn = 4, .drawn_weight = 12}};
  auto store = store::DrawStore::open(fleet_.path() + "/draws.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(store->add(made));
  for (const store::DrawnMachine& machine : made.machines) {
    ASSERT_TRUE(store->update("d1", machine));
  }
  answer("d1", "a1", a, 10);
  EXPECT_THAT(
      fleet_.top({})->notes,
      Contains(HasSubstr("3 of 4 drawn machines sent no profile: most (2) were withheld: over the overhead "
                         "budget (draw.max_overhead_percent)")));
}

// By a simple model: every total is the sum of the strata's machines times the mean of what answered.
TEST_F(ResponsesTest, RandomDrawsAddUpToTheFleet) {
  std::mt19937_64 random(20'261'123);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  double expected = 0;
  for (int number = 0; number < 20; ++number) {
    std::vector<Stratum> strata;
    for (const char* name : {"a", "b", "c"}) {
      const int64_t machines = 1 + below(40);
      strata.push_back({name, machines, 1 + below(std::min<int64_t>(machines, 5))});
    }
    const std::string id = fmt::format("d{:02}", number);
    draw(id, strata);
    for (const Stratum& stratum : strata) {
      const int64_t answers = 1 + below(stratum.drawn);
      int64_t sum = 0;
      for (int64_t machine = 0; machine < answers; ++machine) {
        const int64_t cycles = 1 + below(100);
        answer(id, fmt::format("{}{}", stratum.name, machine), stratum, static_cast<int>(cycles));
        sum += cycles;
      }
      expected += static_cast<double>(stratum.machines * sum) / static_cast<double>(answers);
    }
  }
  EXPECT_NEAR(total({{"limit", "1000"}}), expected, 1e-9 * expected);
}

}  // namespace
}  // namespace plimsoll::query
