#include "query/views/side_by_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<plimsoll::testing::EventSpec> kThree{{.name = "cycles", .scale = 1000},
                                                       {.name = "instructions", .scale = 2000},
                                                       {.name = "misses", .scale = 10}};

class SideBySide : public ::testing::Test {
 protected:
  SideBySide() {
    for (uint64_t machine = 1; machine <= 5; ++machine) {
      fleet_.add({.seed = machine,
                  .machine = fmt::format("m{}", machine),
                  .events = kThree,
                  .job = machine < 4 ? "web" : "db",
                  .stacks = fmt::format(
                      "main;parse {0}\nevent=instructions main;parse {1}\nevent=misses main;parse 7\n"
                      "main {2}\nevent=instructions main 50\nevent=misses lex 3\n",
                      200 + machine, 100 + 3 * machine, 40 + 2 * machine)});
    }
  }

  Fleet fleet_;
};

const Value& at(const Table& table, size_t row, std::string_view column) {
  return table.rows.at(row).at(column_of(table, column));
}

TEST_F(SideBySide, RowsStandByTheFirstEventAndTheOthersAreOverIt) {
  const auto table = fleet_.top({{"event", "cycles"},
                                 {"compare_event", "instructions"},
                                 {"compare_event", "misses"},
                                 {"margins", "no"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->event, "cycles, instructions, misses");
  EXPECT_EQ(csv(table),
            "function,cycles,cycles_share,cycles_share_margin,cycles_share_low,cycles_share_high,cycles_"
            "margin_kind,"
            "instructions,instructions_share,instructions/cycles,instructions/cycles_margin,instructions/"
            "cycles_low,"
            "instructions/cycles_high,instructions/cycles_margin_kind,"
            "misses,misses_share,misses/cycles,misses/cycles_margin,misses/cycles_low,misses/cycles_high,"
            "misses/cycles_margin_kind\n"
            "parse,1015000,0.8152610441767069,,,,,1090000,0.6855345911949685,1.0738916256157636,,,,,"
            "350,0.7,0.0003448275862068965,,,,\n"
            "main,230000,0.18473895582329317,,,,,500000,0.31446540880503143,2.1739130434782608,,,,,0,0,,,,,\n"
            "lex,0,0,,,,,0,0,,,,,,150,0.3,,,,,\n");
}

TEST_F(SideBySide, SaysOfEachEventWhatTopAndRatioSay) {
  for (const char* by : {"function", "job", "machine", "job,function", "stack"}) {
    const auto together = fleet_.top({{"by", by}, {"event", "cycles"}, {"compare_event", "instructions"}});
    const auto alone = fleet_.top({{"by", by}, {"event", "cycles"}});
    const auto ratio = fleet_.top({{"by", by}, {"ratio", "instructions/cycles"}});
    ASSERT_TRUE(together && alone && ratio);
    ASSERT_EQ(together->rows.size(), ratio->rows.size());
    for (size_t row = 0; row < together->rows.size(); ++row) {
      EXPECT_EQ(at(*together, row, "cycles"), at(*alone, row, "self"));
      for (const char* part : {"", "_margin", "_low", "_high"}) {
        EXPECT_EQ(at(*together, row, std::string("cycles_share") + part),
                  at(*alone, row, std::string("self_share") + part));
        EXPECT_EQ(at(*together, row, std::string("instructions/cycles") + part),
                  at(*ratio, row, std::string("ratio") + part));
      }
      EXPECT_EQ(at(*together, row, "cycles_margin_kind"), at(*alone, row, "self_margin_kind"));
      EXPECT_EQ(at(*together, row, "instructions/cycles_margin_kind"), at(*ratio, row, "margin_kind"));
      EXPECT_EQ(at(*together, row, "instructions"), at(*ratio, row, "numerator"));
    }
  }
}

TEST_F(SideBySide, ProfilesWithoutOneOfTheEventsAreLeftOut) {
  fleet_.add({.seed = 100, .machine = "m9", .events = {kThree[0], kThree[1]}, .stacks = "main 1000\n"});
  const auto two = fleet_.top({{"by", "machine"}, {"event", "cycles"}, {"compare_event", "instructions"}});
  const auto three = fleet_.top({{"by", "machine"},
                                 {"event", "cycles"},
                                 {"compare_event", "instructions"},
                                 {"compare_event", "misses"}});
  EXPECT_EQ(two->rows.size(), 6U);
  EXPECT_EQ(three->rows.size(), 5U);
  EXPECT_THAT(three->notes, ElementsAre("1 of 6 profiles are not used: they lack one of the events"));
}

TEST_F(SideBySide, TextHasAMarginBehindEachRatio) {
  EXPECT_THAT(to_text(*fleet_.top({{"event", "cycles"}, {"compare_event", "instructions"}})),
              HasSubstr(" cycles  cycles_share     ±  instructions  instructions_share  instructions/cycles  "
                        "      ±  function\n"
                        "1.015 M       81.53 % ±1.27        1.09 M             68.55 %                1.074 "
                        "±0.05329  parse\n"));
}

TEST_F(SideBySide, RefusesWhatCannotStandThere) {
  const auto error = [&](const Parameters& parameters) { return fleet_.top(parameters).error().text(); };
  EXPECT_THAT(error({{"compare_event", "instrutions"}}),
              HasSubstr("events with samples: cycles, instructions, misses"));
  EXPECT_THAT(error({{"event", "misses"}, {"compare_event", "misses"}}),
              HasSubstr("event misses is listed twice"));
  EXPECT_THAT(error({{"compare_event", ""}}), HasSubstr("compare_event is empty"));
  EXPECT_THAT(error({{"ratio", "ipc"}, {"compare_event", "misses"}}),
              HasSubstr("compare_event cannot be combined with ratio"));
  EXPECT_THAT(error(Parameters(16, {"compare_event", "misses"})), HasSubstr("at most 15"));
}

}  // namespace
}  // namespace plimsoll::query
