#include "query/placement/measured/measured_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

struct PlacedRun {
  uint64_t seed;
  std::string machine, platform, job;
  uint64_t cycles, instructions;  // thousands, in ten seconds
};

wire::RawProfile placed_profile(const PlacedRun& ran) {
  wire::RawProfile profile = make_profile(
      {.seed = ran.seed,
       .machine = ran.machine,
       .length_ns = 10'000'000'000,
       .events = {{.name = "cycles", .scale = 1000}, {.name = "instructions", .scale = 1000}},
       .job = ran.job,
       .stacks = fmt::format("main {}\nevent=instructions main {}\n", ran.cycles, ran.instructions)});
  profile.mutable_machine()->set_platform(ran.platform);
  return profile;
}

// web gains fourfold by the new platform, db nothing; today each has half of what there is of the other's.
class MeasuredPlacementTest : public ::testing::Test {
 protected:
  MeasuredPlacementTest() {
    fleet_.add(placed_profile({1, "m1", "old", "web", 400, 100}));
    fleet_.add(placed_profile({2, "m1", "old", "db", 200, 200}));
    fleet_.add(placed_profile({3, "m2", "new", "web", 100, 100}));
    fleet_.add(placed_profile({4, "m2", "new", "db", 200, 200}));
  }

  Result<Table> place(Parameters parameters) const {
    const auto request = parse_measured_placement(parameters, 1'000);
    return request ? measured_placement(*request, **Snapshot::load(fleet_.path()), {}) : propagate(request);
  }

  static double number(const Table& table, std::string_view column, size_t row = 0) {
    return std::get<double>(table.rows.at(row)[column_of(table, column)]);
  }

  Fleet fleet_;
};

TEST_F(MeasuredPlacementTest, MovesWhatGainsIntoTheRoomOfToday) {
  const auto summary = place({{"by", "summary"}});
  ASSERT_TRUE(summary) << summary.error().text();
  ASSERT_EQ(summary->rows.size(), 1);
  const double todays = number(*summary, "todays_cost");
  // Of all web's 200 instructions there is room on the new platform; as much of db has to leave, and costs the same.
  EXPECT_NEAR(number(*summary, "saving_share"), 300.0 / 900, 1e-6);
  EXPECT_NEAR(number(*summary, "planned_cost") + number(*summary, "saving"), todays, todays * 1e-9);
  const auto platforms = place({{"by", "platform"}});
  ASSERT_TRUE(platforms);
  for (size_t row = 0; row < platforms->rows.size(); ++row) {
    const double today = number(*platforms, "todays_capacity_used", row);
    EXPECT_NEAR(number(*platforms, "capacity", row), today, today * 1e-6);
    EXPECT_LE(number(*platforms, "capacity_used", row), today * (1 + 1e-6));
  }
  EXPECT_THAT(to_csv(*place({{"by", "move"}})), HasSubstr("web,old,new"));
}

TEST_F(MeasuredPlacementTest, RoomIsOfAllPlatformsOrOfOne) {
  const auto plain = place({{"by", "platform"}});
  const auto all = place({{"by", "platform"}, {"headroom", "50%"}});
  const auto one = place({{"by", "platform"}, {"headroom", "50%"}, {"room", "new=10%"}});
  ASSERT_TRUE(plain && all && one);
  for (const auto& [table, more_new, more_old] : {std::tuple(&*all, 1.5, 1.5), std::tuple(&*one, 1.1, 1.5)}) {
    EXPECT_NEAR(number(*table, "capacity", 0), more_new * number(*plain, "capacity", 0), 1);
    EXPECT_NEAR(number(*table, "capacity", 1), more_old * number(*plain, "capacity", 1), 1);
  }
}

TEST_F(MeasuredPlacementTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(place({{"room", "10%"}}).error().field, "room");
  EXPECT_EQ(place({{"room", "=10%"}}).error().field, "room");
  EXPECT_THAT(place({{"room", "neww=10%"}}).error().text(), HasSubstr("runs on the platform neww"));
  EXPECT_EQ(place({{"by", "job"}}).error().field, "by");
  EXPECT_EQ(place({{"where", "job=none"}}).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(place({{"where", "job=none"}}).error().text(), HasSubstr("nothing matches job=none"));
}

}  // namespace
}  // namespace plimsoll::query
