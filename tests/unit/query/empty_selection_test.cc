// What an answer without rows says of why it has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

class EmptyAnswer : public ::testing::Test {
 protected:
  EmptyAnswer() {
    fleet_.add({.seed = 1,
                .machine = "rome-17",
                .from_ns = 1'800'000'000'000'000'000,
                .events = {{.name = "cycles"}, {.name = "faults"}},
                .job = "search",
                .stacks = "process=db thread=io main;parse 3\n"});
    fleet_.add({.seed = 2, .from_ns = 1'800'000'000'000'000'000, .job = "mail", .stacks = "main;render 5\n"});
  }

  std::string why(const Parameters& parameters) const {
    const auto table = fleet_.top(parameters);
    if (!table) {
      return table.error().text();
    }
    EXPECT_TRUE(table->rows.empty());
    return table->notes.empty() ? "" : table->notes.back();
  }

  Fleet fleet_;
};

TEST_F(EmptyAnswer, NamesTheFilterThatNothingMeetsAndTheNearestValue) {
  EXPECT_EQ(why({{"where", "job=serach"}}), "no results: nothing matches job=serach. Did you mean search?");
  EXPECT_EQ(why({{"where", "machine=rome-71"}, {"where", "job=mail"}}),
            "no results: nothing matches machine=rome-71. Did you mean rome-17?");
  EXPECT_EQ(why({{"where", "thread=i0"}}), "no results: nothing matches thread=i0. Did you mean io?");
  EXPECT_EQ(why({{"where", "thread=worker"}}), "no results: nothing matches thread=worker");
  EXPECT_EQ(why({{"where", "function=rendr"}}),
            "no results: nothing matches function=rendr. Did you mean render?");
  EXPECT_EQ(why({{"where", "job in serach,mial"}}),
            "no results: nothing matches job in serach,mial. Did you mean search?");
  EXPECT_EQ(why({{"where", "job=~^web"}}), "no results: nothing matches job=~^web");
  EXPECT_EQ(why({{"where", "job!~."}}), "no results: nothing matches job!~.");
}

TEST_F(EmptyAnswer, SaysThatFiltersExcludeEachOther) {
  EXPECT_EQ(why({{"where", "job=search"}, {"where", "function=render"}}),
            "no results: no sample in this time range matches all filters");
  EXPECT_EQ(why({{"where", "stack=main;lex"}}),
            "no results: no sample in this time range matches all filters");
}

TEST_F(EmptyAnswer, SaysWhenThereAreProfiles) {
  EXPECT_EQ(why({{"since", "2027-01-16T00:00:00Z"}, {"where", "job=serach"}}),
            "no results: no profiles in this time range; there are profiles from 2027-01-15T08:00:00Z to "
            "2027-01-15T08:00:01Z");
}

TEST_F(EmptyAnswer, SaysThatTheEventWasNotSeen) {
  EXPECT_EQ(why({{"event", "faults"}}), "no results: no usable profile in this time range has samples of it");
}

TEST_F(EmptyAnswer, OfRatiosSaysSoToo) {
  EXPECT_THAT(why({{"ratio", "faults/cycles"}, {"where", "job=serach"}}),
              ::testing::HasSubstr("Did you mean search?"));
}

}  // namespace
}  // namespace plimsoll::query
