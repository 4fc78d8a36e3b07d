#include "query/wsmeter/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

struct Instance {
  uint64_t seed;
  std::string machine, platform, job, instance;
  uint64_t cycles, instructions;  // hits
};

wire::RawProfile profile_of(const Instance& ran) {
  wire::RawProfile profile = make_profile(
      {.seed = ran.seed,
       .machine = ran.machine,
       .events = {{.name = "cycles", .scale = 1000}, {.name = "instructions", .scale = 1000}},
       .job = ran.job,
       .stacks =
           fmt::format("main {}\n", ran.cycles) +
           (ran.instructions > 0 ? fmt::format("event=instructions main {}\n", ran.instructions) : "")});
  profile.mutable_machine()->set_platform(ran.platform);
  profile.mutable_processes(0)->set_instance(ran.instance);
  return profile;
}

store::Census census_of(const std::string& machine, const std::string& job, const std::string& instance,
                        double quota_cpus) {
  store::Census census;
  census.machine_id = machine;
  wire::InstanceUsage& usage = census.instances.emplace_back();
  usage.set_job(job);
  usage.set_instance(instance);
  usage.set_quota_cpus(quota_cpus);
  return census;
}

TEST(Observations, AreOfEachInstanceOnEachMachineWithItsQuota) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "AMD Zen 3", "db", "db/1", 400, 300}));
  fleet.add(profile_of({2, "m2", "AMD Zen 4", "db", "db/2", 100, 150}));
  fleet.add(profile_of({3, "m2", "AMD Zen 4", "web", "web/1", 40, 10}));
  store::LiveMachine in_rack;
  in_rack.attributes.set_id("m1");
  in_rack.rack = "r7";
  const LiveFleet live{{in_rack},
                       {census_of("m1", "db", "db/1", 2.5), census_of("m2", "db", "db/1", 9),
                        census_of("m2", "web", "web/1", 0)}};
  const auto table = observations({}, **Snapshot::load(fleet.path()), live);
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 3);
  EXPECT_THAT(csv(table),
              HasSubstr("job,machine,rack,platform,instance,performance,performance_margin,margin_kind,"
                        "denominator,quota_cpus\n"
                        "db,m1,r7,AMD Zen 3,db/1,0.75,"));
  EXPECT_THAT(csv(table), HasSubstr("within one machine,400000,2.5\n"));
  // db/2 is in no census of its machine, and web/1 has no limit.
  EXPECT_THAT(csv(table), HasSubstr("db,m2,,AMD Zen 4,db/2,1.5,"));
  EXPECT_THAT(csv(table), HasSubstr("within one machine,100000,\n"));
  EXPECT_THAT(csv(table), HasSubstr("web,m2,,AMD Zen 4,web/1,0.25,,too few samples,40000,\n"));
}

TEST(Observations, AreTypedBeforeTheyAreATable) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "AMD Zen 3", "db", "db/1", 400, 300}));
  const LiveFleet live{{}, {census_of("m1", "db", "db/1", 2.5)}};
  const auto seen = observe({}, **Snapshot::load(fleet.path()), live);
  ASSERT_TRUE(seen) << seen.error().text();
  ASSERT_EQ(seen->seen.size(), 1);
  const Observation& one = seen->seen[0];
  EXPECT_EQ(one.job, "db");
  EXPECT_EQ(one.instance, "db/1");
  EXPECT_DOUBLE_EQ(one.performance, 0.75);
  EXPECT_TRUE(one.margin);
  EXPECT_EQ(one.load, 400'000);
  EXPECT_EQ(one.quota_cpus, 2.5);
  EXPECT_EQ(seen->performance_unit, "instructions/cycles");
}

TEST(Observations, ASelectionHolds) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "AMD Zen 3", "db", "db/1", 400, 300}));
  fleet.add(profile_of({2, "m2", "AMD Zen 4", "web", "web/1", 100, 150}));
  ObservationsRequest request;
  request.selection.where.push_back(*Predicate::parse("platform=AMD Zen 4"));
  const auto table = observations(request, **Snapshot::load(fleet.path()), {});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 1);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "web");
}

TEST(Observations, TakeTheParametersOfFiltersAndARatio) {
  const auto request = parse_observations(
      {{"where", "platform=AMD Zen 4"}, {"since", "1h"}, {"ratio", "cycles/instructions"}, {"limit", "7"}},
      7'200'000'000'000);
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->selection.where.size(), 1);
  EXPECT_EQ(request->selection.since_ns, 3'600'000'000'000);
  EXPECT_EQ(request->ratio, "cycles/instructions");
  EXPECT_EQ(request->limit, 7);
  EXPECT_FALSE(parse_observations({{"event", "cycles"}}, 0));
  EXPECT_FALSE(parse_observations({{"ratio", "cycles"}}, 0));
}

// What has cycles and no instructions has no performance.
TEST(Observations, OfOneEventAloneAreLeftOutAndCounted) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "AMD Zen 3", "db", "db/1", 400, 300}));
  fleet.add(profile_of({2, "m2", "AMD Zen 3", "db", "db/2", 100, 0}));
  const auto table = observations({}, **Snapshot::load(fleet.path()), {});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(csv(table), HasSubstr("db/1"));
  EXPECT_THAT(csv(table), Not(HasSubstr("db/2")));
  EXPECT_THAT(table->notes, ::testing::Contains(HasSubstr("1 of 2 instances have no samples of one of")));
}

TEST(Observations, WithoutHardwareEventsThereAreNone) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cpu-clock", .unit = wire::NANOSECONDS}}, .stacks = "main 1\n"});
  const auto table = observations({}, **Snapshot::load(fleet.path()), {});
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(table.error().hint, HasSubstr("cpu-clock"));
}

}  // namespace
}  // namespace plimsoll::query
