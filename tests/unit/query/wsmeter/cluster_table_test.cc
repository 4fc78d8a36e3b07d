#include "query/wsmeter/construction/cluster_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/query/wsmeter/observed_fleet.h"

namespace plimsoll::query::cluster_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three machines run both jobs, one only the heavy one, and one what nobody asks about.
constexpr std::string_view kPerformance =
    "platform,job,instance,machine,performance\n"
    "old,web,1,m1,2\nold,web,2,m2,4\nold,web,3,m3,3\nold,web,4,m4,3\n"
    "old,db,1,m1,1\nold,db,2,m2,1\nold,db,3,m3,1\n"
    "old,batch,1,m5,1\n"
    "new,web,1,n1,5\n";
constexpr std::string_view kJobs = "job,quota\nweb,80\ndb,15\nbatch,5\n";

Result<Table> cluster(const ClusterRequest& request) {
  return cluster_table(observed_fleet(kPerformance, kJobs), request);
}

std::set<std::string> machines_of(const Table& table) {
  std::set<std::string> machines;
  for (const auto& row : table.rows) {
    machines.insert(std::get<std::string>(row[0]));
  }
  return machines;
}

TEST(ClusterTable, TheBestOfManyHasTheFewestMachinesThatSuffice) {
  // Two of m1, m2 and m3 run two instances of both jobs, which have 95 %; the two with the least quota all have 80 / 4 + 15 / 3.
  const auto table = cluster({.current = "old", .min_instances = 2, .coverage = 0.9});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 2);
  for (const std::string& machine : machines_of(*table)) {
    EXPECT_THAT(machine, ::testing::AnyOf("m1", "m2", "m3"));
  }
  EXPECT_EQ(std::get<int64_t>(table->rows[0][1]), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][2]), 25);
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][3]), 0);
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[1][3]), 0.95);
  EXPECT_THAT(
      table->notes,
      ElementsAre(HasSubstr("2 of 5 machines, the fewest of 1000 clusters"),
                  HasSubstr("its quota is 50; 95 % of all quota is of jobs with 2 instances or more"),
                  // web: weight 80 / 95, deviation sqrt(2 / 3) / 3 of two instances; db does not vary.
                  HasSubstr("a margin of 31.76 %")));
}

TEST(ClusterTable, OnAverageTakesAsManyMachinesAsChanceWouldHaveIt) {
  // Any two of the four with web suffice for 80 %. Of five machines in random order one is m5: it comes after the second of the others with
  // probability 3/5, so that 2 + 2/5 machines are taken on average.
  const auto table = cluster({.current = "old", .min_instances = 2, .coverage = 0.8, .tries = 100'000});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows.size(), 2);
  EXPECT_THAT(table->notes[0], HasSubstr("; 2.4 on average"));
}

TEST(ClusterTable, AnInstanceHasItsShareOfAllThatThereAre) {
  const auto table =
      cluster_table(observed_fleet(kPerformance, "job,quota,instances\nweb,80,40\ndb,15,\nbatch,5,\n"),
                    {.current = "old", .min_instances = 2, .coverage = 0.9});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][2]), 80.0 / 40 + 15.0 / 3);
}

// The sum of many weights differs with their order.
TEST(ClusterTable, AllMachinesSufficeForAllOfTheQuotaInAnyOrder) {
  std::string performance = "job,instance,machine,platform,performance\n";
  std::string jobs = "job,quota\n";
  for (int i = 0; i < 20'000; ++i) {
    performance += fmt::format("j{0},1,m{0},old,1\n", i);
    jobs += fmt::format("j{},{}\n", i, i % 3 == 0 ? 1 : 1e4);
  }
  const auto table = cluster_table(observed_fleet(performance, jobs),
                                   {.current = "old", .min_instances = 1, .coverage = 1, .tries = 3});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_LE(table->rows.size(), 20'000);
  EXPECT_GE(table->rows.size(), 19'000) << "but for the smallest jobs in the end";
  EXPECT_THAT(table->notes[2], HasSubstr("the standard deviations of the covered jobs are unknown"));
}

TEST(ClusterTable, ASeedRepeatsIt) {
  const ClusterRequest request{.current = "old", .min_instances = 2, .coverage = 0.8, .tries = 1, .seed = 7};
  EXPECT_EQ(to_csv(*cluster(request)), to_csv(*cluster(request)));
}

TEST(ClusterTable, ThatCannotBeSaysWhat) {
  EXPECT_THAT(cluster({.current = "old", .min_instances = 4, .coverage = 0.9}).error().text(),
              HasSubstr("all 5 machines cover 80 % of the quota with 4 or more instances per job, less than "
                        "the required 90 %"));
  EXPECT_THAT(cluster({}).error().text(), HasSubstr("give --current, one of: new, old"));
  EXPECT_THAT(cluster_table(observed_fleet("platform,job,instance,performance\nold,web,1,2\n", kJobs), {})
                  .error()
                  .text(),
              HasSubstr("has no machines"));
}

}  // namespace
}  // namespace plimsoll::query::cluster_table_test
