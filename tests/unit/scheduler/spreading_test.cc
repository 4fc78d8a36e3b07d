#include "scheduler/safety/spreading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "scheduler/draws/random.h"
#include "scheduler/safety/limited_groups.h"
#include "tests/unit/store/placed_jobs.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::Each;
using ::testing::Optional;

using Machines = std::vector<std::vector<GroupPart>>;

// How many machines have each turn; under -1, none.
std::map<int, int> sizes(const std::vector<std::optional<uint32_t>>& turns) {
  std::map<int, int> sizes;
  for (const std::optional<uint32_t>& turn : turns) {
    ++sizes[turn ? static_cast<int>(*turn) : -1];
  }
  return sizes;
}

TEST(Spreading, WithRoomForAllEverybodyMeasuresAtOnce) {
  const Machines machines(7, {{0, 1}});
  EXPECT_THAT(take_turns(machines, {7}, 3, 1), Each(Optional(0)));
}

TEST(Spreading, FillsOneTurnAfterTheOther) {
  const Machines machines(7, {{0, 1}});
  EXPECT_EQ(sizes(take_turns(machines, {3.9}, 9, 1)), (std::map<int, int>{{0, 3}, {1, 3}, {2, 1}}));
  EXPECT_EQ(sizes(take_turns(machines, {3.9}, 2, 1)), (std::map<int, int>{{0, 3}, {1, 3}, {-1, 1}}));
}

TEST(Spreading, OneAlwaysMay) {
  const Machines machines(3, {{0, 5}});
  EXPECT_EQ(sizes(take_turns(machines, {0.1}, 9, 1)), (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(sizes(take_turns(machines, {0.1}, 0, 1)), (std::map<int, int>{{-1, 3}}));
}

TEST(Spreading, WhoComesFirstIsLeftToChance) {
  const Machines machines(4, {{0, 1}});
  std::map<size_t, int> firsts;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const auto turns = take_turns(machines, {1}, 4, seed);
    for (size_t machine = 0; machine < 4; ++machine) {
      firsts[machine] += turns[machine] == 0U;
    }
  }
  for (const auto& [machine, count] : firsts) {
    EXPECT_NEAR(count, 1000, 5 * 27.4);  // five standard deviations
  }
  EXPECT_EQ(take_turns(machines, {1}, 4, 3), take_turns(machines, {1}, 4, 3));
}

// Whatever the groups, limits hold in every turn, and nobody is left out who would have found room.
TEST(Spreading, HoldsTheLimitsOfRandomFleets) {
  DrawRandom random(20'261'123);
  for (int round = 0; round < 200; ++round) {
    GroupLimits limits(1 + random.below(6));
    for (double& limit : limits) {
      limit = static_cast<double>(random.below(8));
    }
    Machines machines(random.below(40));
    for (std::vector<GroupPart>& parts : machines) {
      for (uint32_t group = 0; group < limits.size(); ++group) {
        if (random.happens(0.5)) {
          parts.push_back({group, static_cast<double>(1 + random.below(3))});
        }
      }
    }
    const auto turns = static_cast<uint32_t>(random.below(6));
    const auto taken = take_turns(machines, limits, turns, random.below(1000));
    // By turn and group: members, and machines.
    std::vector<std::vector<std::pair<double, int>>> sums(turns, {limits.size(), {0, 0}});
    for (size_t machine = 0; machine < machines.size(); ++machine) {
      for (const GroupPart& part : machines[machine]) {
        if (taken[machine]) {
          sums[*taken[machine]][part.group].first += part.members;
          ++sums[*taken[machine]][part.group].second;
        }
      }
    }
    for (const auto& turn : sums) {
      for (size_t group = 0; group < limits.size(); ++group) {
        EXPECT_TRUE(turn[group].first <= limits[group] || turn[group].second == 1);
      }
    }
    for (size_t machine = 0; machine < machines.size(); ++machine) {
      for (uint32_t turn = 0; turn < turns && !taken[machine]; ++turn) {
        EXPECT_TRUE(std::ranges::any_of(machines[machine],
                                        [&](const GroupPart& part) {
                                          const double there = sums[turn][part.group].first;
                                          return there > 0 && there + part.members > limits[part.group];
                                        }))
            << "there was room for machine " << machine;
      }
    }
  }
}

TEST(LimitedGroups, AreInstancesOfJobsAndMachinesOfPlatforms) {
  wire::Machine zen;
  zen.set_platform("zen");
  wire::Machine lake;
  lake.set_platform("lake");
  const store::PlacedJobs jobs =
      plimsoll::testing::placed_jobs({{{"db", 2}, {"web", 1}}, {{"web", 1}}, {}, {{"db", 1}}});
  const std::vector<Candidate> fleet{
      {&zen, jobs.of(0)}, {&lake, jobs.of(1)}, {&zen, jobs.of(2)}, {&zen, jobs.of(3)}};
  const std::vector<uint32_t> drawn{0, 1};
  const LimitedGroups groups = limited_groups(fleet, drawn, {.share_of_job = 0.5, .share_of_platform = 0.25});
  // zen, lake, db, web
  EXPECT_THAT(groups.limits, ::testing::ElementsAre(0.75, 0.25, 1.5, 1));
  const auto in_words = [](const std::vector<GroupPart>& parts) {
    std::string text;
    for (const GroupPart& part : parts) {
      text += fmt::format("{}:{} ", part.group, part.members);
    }
    return text;
  };
  ASSERT_EQ(groups.parts.size(), 2);
  EXPECT_EQ(in_words(groups.parts[0]), "0:1 2:2 3:1 ");
  EXPECT_EQ(in_words(groups.parts[1]), "1:1 3:1 ");
}

TEST(LimitedGroups, AreMachinesOfRacksWhereTheyAreKnown) {
  const wire::Machine machine;
  const std::vector<Candidate> fleet{{.machine = &machine, .rack = "r1"},
                                     {.machine = &machine, .rack = "r2"},
                                     {.machine = &machine},
                                     {.machine = &machine, .rack = "r1"}};
  const std::vector<uint32_t> drawn{2, 3};
  const LimitedGroups groups = limited_groups(fleet, drawn, {.share_of_platform = 1, .share_of_rack = 0.5});
  // The platform, r1, r2.
  EXPECT_THAT(groups.limits, ::testing::ElementsAre(4, 1, 0.5));
  ASSERT_EQ(groups.parts.size(), 2);
  ASSERT_EQ(groups.parts[0].size(), 1);
  ASSERT_EQ(groups.parts[1].size(), 2);
  EXPECT_EQ(groups.parts[1][1].group, 1);
}

}  // namespace
}  // namespace plimsoll::scheduler
