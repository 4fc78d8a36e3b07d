#include "query/operations/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/store/placed_jobs.h"

namespace plimsoll::query::jobs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNowNs = 10'000'000'000;

store::LiveMachine machine(const std::string& id, int64_t last_seen_ns = kNowNs) {
  store::LiveMachine machine;
  machine.attributes.set_id(id);
  machine.last_seen_ns = last_seen_ns;
  machine.heartbeat_ns = 1'000'000'000;
  return machine;
}

wire::InstanceUsage usage(const std::string& job, double quota_cpus, int64_t cpu_time_ns) {
  wire::InstanceUsage usage;
  usage.set_job(job);
  usage.set_instance(job + "/1");
  usage.set_quota_cpus(quota_cpus);
  usage.set_cpu_time_ns(cpu_time_ns);
  return usage;
}

Result<Table> ask(const Parameters& parameters, const LiveFleet& live) {
  const auto request = parse_jobs(parameters, kNowNs);
  return request ? jobs(*request, live) : Result<Table>(propagate(request));
}

// m1 and m2 are live, m3 is gone; m2 has not sent a second census.
LiveFleet three_machines() {
  return {{machine("m1"), machine("m2"), machine("m3", 1)},
          {{"m1", kNowNs - 5, 1000, {usage("web", 2, 500), usage("web", 0, 250), usage("db", 0, 250)}},
           {"m2", kNowNs - 7, 0, {usage("web", 1, 0), usage("new", 4, 0)}},
           {"m3", 1, 1000, {usage("old", 1, 1000)}}}};
}

TEST(Jobs, AreSummedOverTheirInstancesOnLiveMachines) {
  EXPECT_EQ(csv(ask({}, three_machines())),
            "job,machines,instances,cpu_quota,unlimited,cpu_used,cpu_used_share\n"
            "web,2,3,3,1,0.75,0.75\n"
            "db,1,1,,1,0.25,0.25\n"
            "new,1,1,4,0,,\n");
}

TEST(Jobs, OfThePastRanOnWhoWasLiveThen) {
  const LiveFleet then{
      .machines = {machine("m1", kNowNs - 1000), machine("m2", kNowNs - 1000), machine("m3", 1)},
      .censuses = {},
      .past_jobs = plimsoll::testing::placed_jobs(
          {{{"db", 1, 0, 2}, {"web", 3, 1, 4}}, {{"web", 1, 0, 0.5}}, {{"old", 1, 0, 1}}})};
  const auto table = ask({{"at", format_time(kNowNs - 1000)}}, then);
  EXPECT_EQ(csv(table),
            "job,machines,instances,cpu_quota,unlimited,cpu_used,cpu_used_share\n"
            "db,1,1,2,0,,\n"
            "web,2,4,4.5,1,,\n");
  EXPECT_EQ(table->coverage.machines_drawn, 2);
  EXPECT_EQ(table->coverage.to_ns, kNowNs - 1000);
  EXPECT_THAT(ask({{"at", "tomorrow"}}, {}).error().text(), HasSubstr("not a time in the past"));
}

TEST(Jobs, TheLargestAreShownAndANoteCountsTheOthers) {
  const auto table = ask({{"limit", "1"}}, three_machines());
  EXPECT_THAT(csv(table), HasSubstr("\nweb,"));
  EXPECT_EQ(table->rows.size(), 1);
  EXPECT_THAT(table->notes, ElementsAre("showing 1 of 3 jobs"));
}

TEST(Jobs, TheCoverageCountsMachinesWithACensus) {
  const auto table = ask({}, three_machines());
  EXPECT_EQ(table->coverage.machines_live, 2);
  EXPECT_EQ(table->coverage.machines_drawn, 2);
  EXPECT_EQ(table->coverage.from_ns, kNowNs - 7);
  EXPECT_EQ(table->coverage.to_ns, kNowNs - 5);
}

TEST(Jobs, NoneHasItsReason) {
  EXPECT_THAT(ask({}, {})->notes, ElementsAre("no results: no registered machines"));
  EXPECT_THAT(ask({}, {{machine("m1", 1)}, {}})->notes,
              ElementsAre("no results: none of the 1 machines that have registered is live"));
  EXPECT_THAT(ask({}, {{machine("m1")}, {}})->notes,
              ElementsAre("no results: none of the 1 live machines has reported its instances"));
}

TEST(Jobs, ParametersAreChecked) {
  EXPECT_THAT(ask({{"limit", "0"}}, {}).error().text(), HasSubstr("limit is \"0\""));
  EXPECT_THAT(ask({{"by", "job"}}, {}).error().text(), HasSubstr("unknown parameter \"by\""));
}

}  // namespace
}  // namespace plimsoll::query::jobs_test
