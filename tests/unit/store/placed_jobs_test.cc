#include "store/live/placed_jobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/placed_jobs.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PlacedJobs, AreThoseOfEachMachine) {
  const PlacedJobs jobs =
      plimsoll::testing::placed_jobs({{}, {{"db", 2, 1, 1.5}, {"web", 1, 0, 2}}, {{"db", 3, 3, 0}}, {}});
  const auto lines_of = [&](size_t machine) {
    std::vector<std::string> lines;
    for (const PlacedJob& placed : jobs.of(machine)) {
      lines.push_back(fmt::format("{}: {}, {} unlimited, {} CPUs", jobs.name(placed.job), placed.instances,
                                  placed.unlimited, placed.quota_cpus));
    }
    return lines;
  };
  ASSERT_EQ(jobs.machines(), 4);
  EXPECT_THAT(lines_of(0), IsEmpty());
  EXPECT_THAT(lines_of(1), ElementsAre("db: 2, 1 unlimited, 1.5 CPUs", "web: 1, 0 unlimited, 2 CPUs"));
  EXPECT_THAT(lines_of(2), ElementsAre("db: 3, 3 unlimited, 0 CPUs"));
  EXPECT_THAT(lines_of(3), IsEmpty());
}

TEST(PlacedJobs, AreThereOncePerMachine) {
  const PlacedJobs jobs =
      plimsoll::testing::placed_jobs({{{"db", 1}}, {{"db", 2}, {"db", 3}, {"web", 1}}, {{"web", 4}}});
  ASSERT_EQ(jobs.of(1).size(), 2);
  EXPECT_EQ(jobs.of(0)[0].instances, 1);
  EXPECT_EQ(jobs.of(1)[0].instances, 3) << "the last holds";
  EXPECT_EQ(jobs.of(2)[0].instances, 4) << "of another machine";
}

TEST(PlacedJobs, HaveANumberOncePerName) {
  const PlacedJobs jobs = plimsoll::testing::placed_jobs({{{"db", 1}, {"web", 1}}, {{"", 1}, {"db", 1}}});
  EXPECT_EQ(jobs.of(0)[0].job, jobs.of(1)[1].job);
  EXPECT_EQ(jobs.of(1)[0].job, PlacedJobs::kUnnamed);
  EXPECT_EQ(jobs.number_of("web"), jobs.of(0)[1].job);
  EXPECT_EQ(jobs.number_of(""), PlacedJobs::kUnnamed);
  EXPECT_EQ(jobs.number_of("mail"), std::nullopt);
  EXPECT_EQ(PlacedJobs().machines(), 0);
}

}  // namespace
}  // namespace plimsoll::store
