#include "query/views/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::coverage_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kNowNs = 100'000'000'000;

store::LiveMachine live_machine(const std::string& id, const std::string& platform,
                                int64_t last_seen_ns = kNowNs) {
  store::LiveMachine machine;
  machine.attributes.set_id(id);
  machine.attributes.set_platform(platform);
  machine.last_seen_ns = last_seen_ns;
  machine.heartbeat_ns = 1'000'000'000;
  return machine;
}

store::Census census(const std::string& machine, const std::vector<double>& cpus_used) {
  store::Census census{machine, kNowNs, 1'000'000'000, {}};
  for (const double cpus : cpus_used) {
    census.instances.emplace_back().set_cpu_time_ns(static_cast<int64_t>(cpus * 1e9));
  }
  return census;
}

wire::RawProfile profile(uint64_t seed, const std::string& machine, const std::string& platform,
                         const std::string& stacks) {
  wire::RawProfile profile =
      make_profile({.seed = seed, .machine = machine, .length_ns = 2'000'000'000, .stacks = stacks});
  profile.mutable_machine()->set_platform(platform);
  return profile;
}

Result<Table> ask(const Parameters& parameters, const Fleet& fleet, const LiveFleet& live) {
  const auto request = parse_coverage(parameters, kNowNs);
  return request ? coverage(*request, **Snapshot::load(fleet.path()), live)
                 : Result<Table>(propagate(request));
}

// Two of four Romes are seen and one of two Skylakes; another Skylake is gone, and one machine only ever sent a profile.
class CoverageTest : public ::testing::Test {
 protected:
  CoverageTest() {
    fleet_.add(profile(1, "r1", "rome", "main 30\n"));
    fleet_.add(profile(2, "r1", "rome", "main;lex 10\n"));
    fleet_.add(profile(3, "r2", "rome", ""));
    fleet_.add(profile(4, "s1", "skylake", "main 5\n\"\" 15\n"));
    fleet_.add(profile(5, "i1", "milan", "main 1\n"));
  }

  Fleet fleet_;
  const LiveFleet live_{
      {live_machine("r1", "rome"), live_machine("r2", "rome"), live_machine("r3", "rome"),
       live_machine("r4", "rome"), live_machine("s1", "skylake"), live_machine("s2", "skylake"),
       live_machine("s3", "skylake", 1)},
      {census("r1", {1, 2}), census("r2", {1}), census("r3", {4}), census("s2", {2}), census("s3", {100})}};
};

TEST_F(CoverageTest, CountsMachinesAndTheirCpuTimeByPlatform) {
  EXPECT_EQ(csv(ask({}, fleet_, live_)),
            "platform,machines,machines_seen,machines_seen_share,cpus_used,cpus_seen_share,observed,samples,"
            "stackless_share,unsymbolized_share\n"
            "rome,4,2,0.5,8,0.5,6000000000,40,0,0\n"
            "skylake,2,1,0.5,2,0,2000000000,20,0,0.75\n"
            "milan,1,1,1,,,2000000000,1,0,0\n");
}

TEST_F(CoverageTest, SaysWhichPartOfAllCpuTimeTheMachinesSeenTake) {
  EXPECT_THAT(
      ask({}, fleet_, live_)->notes,
      Contains("4 of 7 machines have profiles; they have 40.00 % of the CPU time in the newest censuses"));
  EXPECT_THAT(ask({}, fleet_, {})->notes, ::testing::IsEmpty()) << "nobody has told of CPU time";
}

TEST_F(CoverageTest, FiltersOnMachinesHoldForThoseWithoutProfilesToo) {
  EXPECT_EQ(csv(ask({{"where", "platform!=rome"}, {"by", "platform,machine"}}, fleet_, live_)),
            "platform,machine,machines,machines_seen,machines_seen_share,cpus_used,cpus_seen_share,observed,"
            "samples,"
            "stackless_share,unsymbolized_share\n"
            "milan,i1,1,1,1,,,2000000000,1,0,0\n"
            "skylake,s1,1,1,1,,,2000000000,20,0,0.75\n"
            "skylake,s2,1,0,0,2,0,0,0,,\n");
}

TEST_F(CoverageTest, OfATimeWithoutProfilesNobodyIsSeen) {
  const auto table =
      ask({{"where", "app=nobody"}, {"limit", "1"}, {"until", "1970-01-01T00:00:01Z"}}, fleet_, live_);
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 1U);
  EXPECT_EQ(table->rows[0][column_of(*table, "machines")], Value(int64_t{4}));
  EXPECT_EQ(table->rows[0][column_of(*table, "machines_seen")], Value(int64_t{0}));
  EXPECT_THAT(table->notes.at(0), HasSubstr("no results: "));
}

TEST_F(CoverageTest, RefusesWhatIsNoAttributeOfMachines) {
  EXPECT_THAT(ask({{"by", "job"}}, fleet_, live_).error().text(),
              HasSubstr("job is not an attribute of machines"));
  EXPECT_THAT(ask({{"by", "draw"}}, fleet_, live_).error().text(),
              HasSubstr("draw is not an attribute of machines"));
  EXPECT_THAT(ask({{"limits", "1"}}, fleet_, live_).error().text(), HasSubstr("did you mean limit?"));
}

}  // namespace
}  // namespace plimsoll::query::coverage_test
