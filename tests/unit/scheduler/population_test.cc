#include "scheduler/draws/population.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/placed_jobs.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

wire::Machine of_platform(const std::string& platform) {
  wire::Machine machine;
  machine.set_platform(platform);
  return machine;
}

TEST(Population, StrataStandInTheOrderOfTheirNames) {
  const wire::Machine zen = of_platform("Zen 3");
  const wire::Machine skylake = of_platform("Skylake");
  const std::vector<Candidate> candidates{{&zen}, {&skylake}, {&zen}};
  const Population population = population_of(candidates, *Stratification::make({"platform"}));
  EXPECT_THAT(population.strata, ElementsAre("platform=Skylake", "platform=Zen 3"));
  EXPECT_THAT(population.stratum_of, ElementsAre(1, 0, 1));
}

TEST(Population, JobsAreNumberedAsTheyComeAmongCandidates) {
  const wire::Machine machine = of_platform("Zen 3");
  const store::PlacedJobs jobs = plimsoll::testing::placed_jobs(
      {{{"of no candidate", 1}}, {{"search", 2}, {"ads", 1}}, {}, {{"ads", 1}}});
  const std::vector<Candidate> candidates{
      {&machine, jobs.of(1)}, {&machine, jobs.of(2)}, {&machine, jobs.of(3)}};
  const Population population = population_of(candidates, *Stratification::make({}));
  EXPECT_EQ(population.jobs, 2);
  EXPECT_THAT(population.jobs_of(0), ElementsAre(0, 1));
  EXPECT_THAT(population.jobs_of(1), IsEmpty());
  EXPECT_THAT(population.jobs_of(2), ElementsAre(1));
}

TEST(Population, OfNobodyIsEmpty) {
  const Population population = population_of({}, *Stratification::make({"os"}));
  EXPECT_EQ(population.machines(), 0);
  EXPECT_THAT(population.strata, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::scheduler
