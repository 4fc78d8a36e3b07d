#include "query/views/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::values_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kHourNs = 3'600'000'000'000;

// Two machines, an hour apart, with other events and jobs.
class Values : public ::testing::Test {
 protected:
  Values() {
    fleet_.add({.seed = 1,
                .machine = "m1",
                .events = {{.name = "cycles"}, {.name = "page-faults"}},
                .job = "search",
                .labels = "pod:p1,tier:gold",
                .stacks = "main;parse 9\nmain;Memcpy 5\nevent=page-faults main 1\n"});
    fleet_.add({.seed = 2,
                .machine = "m2",
                .from_ns = kProfileStartNs + kHourNs,
                .events = {{.name = "cpu-clock", .unit = wire::NANOSECONDS}},
                .job = "web",
                .stacks = "main;old_memcpy 100\n"});
  }

  Result<Table> ask(Parameters parameters) const {
    const auto request = parse_values(parameters, kProfileStartNs + 2 * kHourNs);
    const auto snapshot = Snapshot::load(fleet_.path());
    if (!request || !snapshot) {
      return !request ? propagate(request) : propagate(snapshot);
    }
    return values(*request, **snapshot);
  }
  std::vector<std::string> texts(const Parameters& parameters) const {
    std::vector<std::string> texts;
    const auto table = ask(parameters);
    EXPECT_TRUE(table) << table.error().text();
    for (const auto& row : table.value_or(Table()).rows) {
      texts.push_back(std::get<std::string>(row.front()));
    }
    return texts;
  }

  Fleet fleet_;
};

TEST_F(Values, OfEventsAreInTheOrderOfTheirSamplesWithTheirUnits) {
  EXPECT_THAT(csv(ask({{"of", "event"}})),
              "value,unit,meaning\n"
              "cpu-clock,ns,\n"
              "cycles,count,\n"
              "page-faults,count,\n");
}

TEST_F(Values, AreThoseOfTheTimeRange) {
  EXPECT_THAT(texts({{"of", "event"}, {"since", "90m"}}), ElementsAre("cpu-clock"));
  EXPECT_THAT(texts({{"of", "machine"}, {"until", "90m"}}), ElementsAre("m1"));
  EXPECT_THAT(texts({{"of", "machine"}}), ElementsAre("m1", "m2"));
}

TEST_F(Values, ThatBeginWithTheTextComeFirstWhateverItsCase) {
  EXPECT_THAT(texts({{"of", "function"}, {"match", "mEm"}}), ElementsAre("Memcpy", "old_memcpy"));
  EXPECT_THAT(texts({{"of", "function"}, {"match", "nothing"}}), IsEmpty());
}

TEST_F(Values, OfDimensionsHaveTheirMeaningAndTheKeysOfLabels) {
  EXPECT_THAT(csv(ask({})), AllOf(HasSubstr("\njob,,the same binary"),
                                  HasSubstr("\nlabel:pod,,value of a label"), HasSubstr("\nlabel:tier,")));
  EXPECT_THAT(texts({{"match", "label:"}}), ElementsAre("label:pod", "label:tier"));
  EXPECT_THAT(texts({{"of", "label:tier"}}), ElementsAre("gold"));
}

TEST_F(Values, AreListedOnceAndTheRestIsCounted) {
  EXPECT_THAT(texts({{"of", "job"}}), ElementsAre("search", "web"));
  const auto table = ask({{"of", "function"}, {"limit", "2"}});
  EXPECT_EQ(table->rows.size(), 2);
  EXPECT_THAT(table->notes, ElementsAre("showing 2 of 4 values"));
}

TEST_F(Values, OfAnUnknownDimensionAreAnErrorThatNamesTheNearest) {
  const auto refused = ask({{"of", "jbo"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "of");
  EXPECT_THAT(refused.error().hint, HasSubstr("job"));
}

TEST(ValuesOfNothing, AreNone) {
  const Fleet empty;
  const auto snapshot = Snapshot::load(empty.path());
  for (const char* const of : {"event", "job", "function", "machine", "stack"}) {
    EXPECT_THAT(values(*parse_values({{"of", of}}, 0), **snapshot)->rows, IsEmpty()) << of;
  }
}

}  // namespace
}  // namespace plimsoll::query::values_test
