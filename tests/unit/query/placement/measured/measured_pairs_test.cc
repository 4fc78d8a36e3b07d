#include "query/placement/measured/measured_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Ran {
  uint64_t seed;
  std::string machine, platform, job;
  uint64_t cycles, instructions;  // thousands, in ten seconds
};

wire::RawProfile profile_of(const Ran& ran) {
  wire::RawProfile profile = make_profile(
      {.seed = ran.seed,
       .machine = ran.machine,
       .length_ns = 10'000'000'000,
       .events = {{.name = "cycles", .scale = 1000}, {.name = "instructions", .scale = 1000}},
       .job = ran.job,
       .stacks =
           fmt::format("main {}\n", ran.cycles) +
           (ran.instructions > 0 ? fmt::format("event=instructions main {}\n", ran.instructions) : "")});
  profile.mutable_machine()->set_platform(ran.platform);
  return profile;
}

store::LiveMachine live(const std::string& id, const std::string& platform) {
  store::LiveMachine machine;
  machine.attributes.set_id(id);
  machine.attributes.set_platform(platform);
  machine.last_seen_ns = 1'000;
  machine.heartbeat_ns = 1'000;
  return machine;
}

Result<Table> pairs(const Fleet& fleet, const LiveFleet& machines, const Parameters& parameters = {}) {
  const auto request = parse_measured_pairs(parameters, 1'000);
  return request ? measured_pairs(*request, **Snapshot::load(fleet.path()), machines) : propagate(request);
}

double load(const Table& table, size_t row) {
  return std::get<double>(table.rows[row][column_of(table, "load")]);
}

// Two machines of the old platform ran for ten seconds each, and one of the new: a machine second of each says what a second of all machines does.
TEST(MeasuredPairs, AreOfAllMachinesOfAPlatform) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "old", "web", 400, 200}));
  fleet.add(profile_of({2, "m2", "old", "db", 100, 300}));
  fleet.add(profile_of({3, "m3", "new", "web", 50, 100}));
  const auto seen = pairs(fleet, {});
  ASSERT_TRUE(seen) << seen.error().text();
  ASSERT_EQ(seen->rows.size(), 3);
  const std::string text = to_csv(*seen);
  EXPECT_THAT(text, HasSubstr("db,old,0.333"));
  EXPECT_THAT(text, HasSubstr("web,new,0.5,"));
  EXPECT_THAT(text, HasSubstr("web,old,2,"));
  EXPECT_DOUBLE_EQ(load(*seen, 0), 300'000.0 / 20 * 2) << "db on two old machines";
  EXPECT_DOUBLE_EQ(load(*seen, 1), 100'000.0 / 10);
  EXPECT_DOUBLE_EQ(load(*seen, 2), 200'000.0 / 20 * 2);
  // Of ten old machines that are there, two were seen.
  LiveFleet machines;
  for (int i = 0; i < 10; ++i) {
    machines.machines.push_back(live(fmt::format("m{}", i), "old"));
  }
  const auto all = pairs(fleet, machines);
  EXPECT_DOUBLE_EQ(load(*all, 0), 300'000.0 / 20 * 10);
  EXPECT_DOUBLE_EQ(load(*all, 1), 100'000.0 / 10) << "none of these has registered";
}

TEST(MeasuredPairs, AreWhatAPlacementTakes) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "old", "web", 400, 200}));
  fleet.add(profile_of({2, "m2", "old", "db", 100, 300}));
  fleet.add(profile_of({3, "m3", "new", "web", 50, 100}));
  const auto measured = measure_pairs({}, **Snapshot::load(fleet.path()), {});
  ASSERT_TRUE(measured) << measured.error().text();
  const auto received = from_json(to_json(table_of(*measured)));
  ASSERT_TRUE(received);
  const auto again = measured_pairs_in(*received);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_json(table_of(*again)), to_json(table_of(*measured)));

  const CostTable costs = costs_of(*again, "measured");
  ASSERT_EQ(costs.rows.size(), 3);
  EXPECT_EQ(costs.unit, CostUnit::kCycles);
  EXPECT_EQ(costs.rows[2].job + costs.rows[2].platform, "webold");
  EXPECT_DOUBLE_EQ(costs.rows[2].cost, 2);
  EXPECT_EQ(costs.rows[2].line, 4) << "of the same as CSV";
  const LoadTable loads = loads_of(*again, "measured");
  ASSERT_EQ(loads.rows.size(), 2);
  EXPECT_EQ(loads.rows[1].job, "web");
  EXPECT_DOUBLE_EQ(loads.rows[1].load, 100'000.0 / 10 + 200'000.0 / 20 * 2);
  const TodayTable today = today_of(*again, "measured");
  ASSERT_EQ(today.rows.size(), 3);
  EXPECT_DOUBLE_EQ(today.rows[1].load, 100'000.0 / 10);
}

TEST(MeasuredPairs, OfAnotherTableAreAnError) {
  Table table = table_of(MeasuredPairs{.pairs = {{.job = "web", .platform = "old", .cpi = 1, .load = 5}}});
  ASSERT_TRUE(measured_pairs_in(table));
  table.rows[0][5] = std::string("much");
  EXPECT_THAT(measured_pairs_in(table).error().text(), HasSubstr("the measured load of web is not a number"));
  table.columns[5].name = "work";
  EXPECT_EQ(measured_pairs_in(table).error().code, ErrorCode::kCorrupt);
}

TEST(MeasuredPairs, OfWhatIsSelected) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "old", "web", 400, 200}));
  fleet.add(profile_of({2, "m2", "new", "web", 100, 100}));
  const auto table = pairs(fleet, {}, {{"where", "platform=new"}});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 1);
  EXPECT_EQ(std::get<std::string>(table->rows[0][1]), "new");
  // Those of ten machines of the platform that are live and are asked about.
  LiveFleet machines;
  for (int i = 0; i < 10; ++i) {
    machines.machines.push_back(live(fmt::format("m{}", i), "new"));
  }
  const auto all = pairs(fleet, machines, {{"where", "platform=new"}});
  EXPECT_DOUBLE_EQ(load(*all, 0), 100'000.0 / 10 * 10);
  const auto few = pairs(fleet, machines, {{"where", "platform=new"}, {"where", "machine=~m[0-3]"}});
  EXPECT_DOUBLE_EQ(load(*few, 0), 100'000.0 / 10 * 4);
  EXPECT_FALSE(pairs(fleet, {}, {{"event", "cycles"}}));
}

TEST(MeasuredPairs, WithoutSamplesOfBothEventsHaveNoRow) {
  Fleet fleet;
  fleet.add(profile_of({1, "m1", "old", "web", 400, 200}));
  fleet.add(profile_of({2, "m2", "new", "web", 100, 0}));
  const auto table = pairs(fleet, {});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->rows.size(), 1);
  EXPECT_THAT(table->notes, Contains(HasSubstr("1 pairs of job and platform have no samples")));
}

TEST(MeasuredPairs, WithoutHardwareEventsThereAreNone) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cpu-clock", .unit = wire::NANOSECONDS}}, .stacks = "main 1\n"});
  EXPECT_EQ(pairs(fleet, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace plimsoll::query
