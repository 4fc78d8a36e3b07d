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
  EXPECT_EQ(why({{"where", "job=serach"}}),
            "nothing: nothing that there is meets job=serach: did you mean search?");
  EXPECT_EQ(why({{"where", "machine=rome-71"}, {"where", "job=mail"}}),
            "nothing: nothing that there is meets machine=rome-71: did you mean rome-17?");
  EXPECT_EQ(why({{"where", "thread=i0"}}),
            "nothing: nothing that there is meets thread=i0: did you mean io?");
  EXPECT_EQ(why({{"where", "thread=worker"}}), "nothing: nothing that there is meets thread=worker");
  EXPECT_EQ(why({{"where", "function=rendr"}}),
            "nothing: nothing that there is meets function=rendr: did you mean render?");
  EXPECT_EQ(why({{"where", "job in serach,mial"}}),
            "nothing: nothing that there is meets job in serach,mial: did you mean search?");
  EXPECT_EQ(why({{"where", "job=~^web"}}), "nothing: nothing that there is meets job=~^web");
  EXPECT_EQ(why({{"where", "job!~."}}), "nothing: nothing that there is meets job!~.");
}

TEST_F(EmptyAnswer, SaysThatFiltersExcludeEachOther) {
  EXPECT_EQ(why({{"where", "job=search"}, {"where", "function=render"}}),
            "nothing: no sample of these times meets all filters at once");
  EXPECT_EQ(why({{"where", "stack=main;lex"}}),
            "nothing: no sample of these times meets all filters at once");
}

TEST_F(EmptyAnswer, SaysWhenThereAreProfiles) {
  EXPECT_EQ(
      why({{"since", "2027-01-16T00:00:00Z"}, {"where", "job=serach"}}),
      "nothing: there are no profiles of these times, but from 2027-01-15T08:00:00Z to 2027-01-15T08:00:01Z");
}

TEST_F(EmptyAnswer, SaysThatTheEventWasNotSeen) {
  EXPECT_EQ(why({{"event", "faults"}}),
            "nothing: no profile of these times that can be used has samples of it");
}

TEST_F(EmptyAnswer, OfRatiosSaysSoToo) {
  EXPECT_THAT(why({{"ratio", "faults/cycles"}, {"where", "job=serach"}}),
              ::testing::HasSubstr("did you mean search?"));
}

}  // namespace
}  // namespace plimsoll::query
