#include "query/selection/coverage_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::coverage_notes_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kStartNs = 1'700'000'000 * kNsPerSecond;

std::vector<std::string> notes_of(const Fleet& fleet) {
  const auto table = fleet.top({});
  EXPECT_TRUE(table) << table.error().text();
  return table ? table->notes : std::vector<std::string>();
}

// Windows of ten seconds of cpu-clock on one machine, that begin so many seconds after each other.
std::vector<std::string> notes_of_windows_every(int64_t seconds, int64_t hits = 100, double scale = 1e7) {
  Fleet fleet;
  for (uint64_t i = 0; i < 5; ++i) {
    fleet.add(make_profile({.seed = i + 1,
                            .from_ns = kStartNs + static_cast<int64_t>(i) * seconds * kNsPerSecond,
                            .length_ns = 10 * kNsPerSecond,
                            .events = {{.name = "cpu-clock", .scale = scale, .unit = wire::NANOSECONDS}},
                            .stacks = fmt::format("main {}\n", hits)}));
  }
  return notes_of(fleet);
}

TEST(SamplingGaps, TheShareOfTheTimeThatWasSampledIsSaid) {
  EXPECT_THAT(notes_of_windows_every(20), Contains(HasSubstr("56 % of the time was sampled")))
      << "50 of 90 s";
  EXPECT_THAT(notes_of_windows_every(10), Not(Contains(HasSubstr("was sampled"))));
  EXPECT_THAT(notes_of_windows_every(7200), Not(Contains(HasSubstr("was sampled"))))
      << "somebody had ended it";
}

TEST(SamplingGaps, SamplesThatStandForMuchAreSaid) {
  EXPECT_THAT(notes_of_windows_every(10, 2, 5e9),
              Contains(HasSubstr("some samples stand for 5s of CPU time each")));
  EXPECT_THAT(notes_of_windows_every(10), Not(Contains(HasSubstr("stand for"))));
}

TEST(MachineValues, OneThatOutweighsAllOthersIsNamed) {
  const auto notes_with = [](int machines, int of_first) {
    Fleet fleet;
    for (int i = 0; i < machines; ++i) {
      fleet.add(make_profile({.seed = static_cast<uint64_t>(i) + 1,
                              .machine = fmt::format("web-{}", i),
                              .stacks = fmt::format("main {}\n", i == 0 ? of_first : 10)}));
    }
    return notes_of(fleet);
  };
  EXPECT_THAT(
      notes_with(6, 450),
      Contains(HasSubstr("90 % of what 6 machines counted is of one: web-0 (--where machine!=web-0")));
  EXPECT_THAT(notes_with(6, 40), Not(Contains(HasSubstr("is of one"))));
  EXPECT_THAT(notes_with(4, 4500), Not(Contains(HasSubstr("is of one")))) << "of few each may have half";
}

TEST(MachineValues, FewOfVeryManyAreNamedTogether) {
  Fleet fleet;
  for (int i = 0; i < 300; ++i) {
    fleet.add(make_profile({.seed = static_cast<uint64_t>(i) + 1,
                            .machine = fmt::format("web-{}", i),
                            .stacks = fmt::format("main {}\n", i < 3 ? 2000 : 10)}));
  }
  EXPECT_THAT(notes_of(fleet),
              Contains(HasSubstr("67 % of what 300 machines counted is of 3: web-0, web-1, web-2 (--where "
                                 "machine!=web-0 --where")));
}

}  // namespace
}  // namespace plimsoll::query::coverage_notes_test
