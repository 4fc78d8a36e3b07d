// Branch records: pairs of where a branch was and where it led, asked for like stacks.
#include <gtest/gtest.h>

#include "query/views/flame.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

// 10 records of a call, 6 of a loop, 4 of a return; a sample beside them.
ProfileSpec branches() {
  return {.stacks = "main;work 1\n",
          .branches =
              "main;work 10 1\n"
              "work;work 6 3\n"
              "thread=io work;main 4 0\n"};
}

const Parameters kBranches{{"event", "branch-records"}};

Parameters with(Parameters parameters, const std::string& name, const std::string& value) {
  parameters.emplace_back(name, value);
  return parameters;
}

TEST(BranchRecords, SelfIsWhereTheyLedAndTotalWhereTheyTouched) {
  Fleet fleet;
  fleet.add(branches());
  const auto table = fleet.top(kBranches);
  EXPECT_EQ(brief(table),
            "work 16 20\n"
            "main 4 14\n");
  EXPECT_EQ(table->coverage.samples, 20);
}

TEST(BranchRecords, StacksArePairs) {
  Fleet fleet;
  fleet.add(branches());
  EXPECT_EQ(brief(fleet.top(with(kBranches, "by", "stack"))),
            "main;work 10 10\n"
            "work;work 6 6\n"
            "work;main 4 4\n");
  EXPECT_EQ(brief(fleet.top({{"event", "branch-mispredictions"}, {"by", "stack"}})),
            "work;work 3 3\n"
            "main;work 1 1\n");
}

TEST(BranchRecords, FiltersApply) {
  Fleet fleet;
  fleet.add(branches());
  EXPECT_EQ(brief(fleet.top(with(with(kBranches, "by", "stack"), "where", "function!=main"))),
            "work;work 6 6\n");
  EXPECT_EQ(brief(fleet.top(with(with(kBranches, "by", "stack"), "where", "thread=io"))), "work;main 4 4\n");
}

TEST(BranchRecords, WeightsAndScalesApply) {
  Fleet fleet;
  ProfileSpec spec = branches();
  spec.events = {{.name = "cycles"}, {.name = "branch-records", .scale = 1000}};
  wire::RawProfile profile = make_profile(spec);
  profile.mutable_assignment()->mutable_draw()->set_id("nightly");
  profile.mutable_assignment()->mutable_draw()->set_inclusion_probability(0.5);
  fleet.add(profile);
  EXPECT_EQ(brief(fleet.top(with(kBranches, "where", "thread=io"))),
            "main 8000 8000\n"
            "work 0 8000\n");
}

TEST(BranchRecords, AFlameHasABranchBelowWhereItCameFrom) {
  Fleet fleet;
  fleet.add(branches());
  const auto tree = flame(*parse_flame(kBranches, 0), **Snapshot::load(fleet.path()));
  ASSERT_TRUE(tree) << tree.error().text();
  EXPECT_EQ(to_folded(*tree).value(),
            "main;work 10\n"
            "work;main 4\n"
            "work;work 6\n");
}

TEST(BranchRecords, HaveRangesBetweenThem) {
  Fleet fleet;
  ProfileSpec spec = branches();
  spec.ranges = "work;work 5\nmain;main 2\n";
  fleet.add(spec);
  EXPECT_EQ(brief(fleet.top({{"event", "branch-ranges"}, {"by", "stack"}})),
            "work;work 5 5\n"
            "main;main 2 2\n");
}

TEST(BranchRecords, AreNeverTheDefaultWhereThereAreSamples) {
  Fleet fleet;
  fleet.add(
      {.seed = 1,
       .events = {{.name = "branch-records"}, {.name = "branch-mispredictions"}, {.name = "page-faults"}},
       .stacks = "event=page-faults fault 1\n",
       .branches = "main;work 10 1\n"});
  EXPECT_EQ(brief(fleet.top({})), "fault 1 1\n");
}

TEST(BranchRecords, AreWhatIsShownWhereThereIsNothingElse) {
  Fleet fleet;
  fleet.add({.events = {{.name = "branch-records"}}, .stacks = "", .branches = "main;work 10 1\n"});
  EXPECT_EQ(fleet.top({})->event, "branch-records");
}

}  // namespace
}  // namespace plimsoll::query
