#include "query/views/ratio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "query/snapshot/event_pair.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNormal = 1.959964;    // 97.5 % of a normal variable
constexpr double kOneDegree = 12.7062;  // of a t variable of one degree of freedom

const std::vector<plimsoll::testing::EventSpec> kBoth{{.name = "cycles", .scale = 1000},
                                                      {.name = "instructions", .scale = 2000}};

// A row: its texts, then ratio and margin to four digits, kind, numerator, denominator, machines; "-" for what is absent.
std::string lines(const Result<Table>& table) {
  if (!table) {
    return table.error().text();
  }
  std::string text;
  for (const auto& row : table->rows) {
    for (const Value& value : row) {
      if (const auto* name = std::get_if<std::string>(&value)) {
        text += *name + "|";
      } else if (const auto* real = std::get_if<double>(&value)) {
        text += fmt::format("{:.4g}|", *real);
      } else if (const auto* whole = std::get_if<int64_t>(&value)) {
        text += fmt::format("{}|", *whole);
      } else {
        text += "-|";
      }
    }
    text += "\n";
  }
  return text;
}

// Half the width of an interval that is symmetric on the scale of logarithms.
double margin(double value, double standard_errors) {
  return value * std::sinh(standard_errors / value);
}

// Without the ends of intervals.
std::string brief_lines(const Result<Table>& table) {
  if (!table) {
    return table.error().text();
  }
  Table brief = *table;
  const auto low = static_cast<ptrdiff_t>(column_of(brief, "ratio_low"));
  for (auto& row : brief.rows) {
    row.erase(row.begin() + low, row.begin() + low + 2);
  }
  return lines(brief);
}

double number(const Table& table, size_t row, std::string_view column) {
  return std::get<double>(table.rows.at(row).at(column_of(table, column)));
}

// Two machines of one job: 100 + 300 hits of cycles, 40 + 100 of instructions.
class TwoMachines : public Fleet {
 public:
  TwoMachines() {
    add({.seed = 1,
         .machine = "m1",
         .events = kBoth,
         .job = "db",
         .stacks = "main;scan 60\nmain;read 40\nevent=instructions main;scan 35\nevent=instructions "
                   "main;read 5\n"});
    add({.seed = 2,
         .machine = "m2",
         .events = kBoth,
         .job = "db",
         .stacks = "main;scan 300\nevent=instructions main;scan 100\n"});
  }
};

TEST(Ratio, OfAJobIsOfItsTotalsWithAMarginBetweenMachines) {
  const auto table = TwoMachines().top({{"ratio", "instructions/cycles"}, {"by", "job"}});
  // 280,000 / 400,000; residuals 10,000 and -10,000, the larger for what a machine is of all: 1/4 and 3/4; two machines double
  // the sum of the squares around their mean.
  const double first = 1e4 / std::sqrt(0.75);
  const double second = -1e4 / std::sqrt(0.25);
  const double error = std::sqrt(2 * 2 * std::pow((first - second) / 2, 2)) / 4e5;
  EXPECT_EQ(brief_lines(table),
            fmt::format("db|0.7|{:.4g}|few machines|2.8e+05|4e+05|2|\n", margin(0.7, kOneDegree * error)));
  EXPECT_EQ(table->event, "instructions/cycles");
  EXPECT_EQ(table->columns[1].name, "ratio");
  EXPECT_EQ(table->columns[1].unit, "instructions/cycles");
  EXPECT_EQ(table->columns[6].name, "numerator");
  EXPECT_EQ(table->columns[6].unit, "count");
}

TEST(Ratio, OfAMachineHasTheNoiseOfItsCounts) {
  const auto table = TwoMachines().top({{"ratio", "ipc"}, {"by", "machine"}});
  EXPECT_EQ(brief_lines(table),
            fmt::format("m2|0.6667|{:.4g}|within one machine|2e+05|3e+05|1|\n"
                        "m1|0.8|{:.4g}|within one machine|8e+04|1e+05|1|\n",
                        margin(2.0 / 3, 2.0 / 3 * kNormal * std::sqrt(1.0 / 100 + 1.0 / 300)),
                        margin(0.8, 0.8 * kNormal * std::sqrt(1.0 / 40 + 1.0 / 100))));
}

TEST(Ratio, OfFunctionsIsOfTheirSelf) {
  const auto table = TwoMachines().top({{"ratio", "ipc"}, {"where", "machine=m1"}});
  EXPECT_EQ(brief_lines(table),
            fmt::format("scan|1.167|{:.4g}|within one machine|7e+04|6e+04|1|\n"
                        "read|0.25|-|too few samples|1e+04|4e+04|1|\n",
                        margin(70.0 / 60, 70.0 / 60 * kNormal * std::sqrt(1.0 / 35 + 1.0 / 60))));
}

TEST(Ratio, WithoutMarginsIsTheSame) {
  const TwoMachines fleet;
  const auto table = fleet.top({{"ratio", "ipc"}, {"by", "job"}, {"margins", "no"}});
  EXPECT_EQ(brief_lines(table), "db|0.7|-|-|2.8e+05|4e+05|-|\n");
}

TEST(Ratio, AliasesTurnItAround) {
  const TwoMachines fleet;
  const auto ipc = fleet.top({{"ratio", "ipc"}, {"by", "job"}});
  const auto cpi = fleet.top({{"ratio", "cpi"}, {"by", "job"}});
  EXPECT_EQ(cpi->event, "cycles/instructions");
  EXPECT_DOUBLE_EQ(number(*ipc, 0, "ratio") * number(*cpi, 0, "ratio"), 1);
  EXPECT_DOUBLE_EQ(number(*cpi, 0, "denominator"), 280'000);
}

TEST(Ratio, AliasesKnowWhatWasCountedExactly) {
  EXPECT_EQ(parse_ratio("exact-ipc").value_or(""), "exact-instructions/exact-cycles");
  EXPECT_EQ(parse_ratio("exact-cpi").value_or(""), "exact-cycles/exact-instructions");
}

TEST(Ratio, WhereOneEventHasNoHitsItIsAbsentNotZero) {
  Fleet fleet;
  fleet.add({.events = kBoth,
             .stacks = "idle 50\nwork 100\nevent=instructions work 100\nevent=instructions odd 7\n"});
  const auto table = fleet.top({{"ratio", "ipc"}});
  EXPECT_THAT(brief_lines(table), HasSubstr("idle|-|-|no samples|0|5e+04|0|\n"
                                            "odd|-|-|no samples|1.4e+04|0|1|\n"));
  EXPECT_THAT(to_json(*table), HasSubstr("\"ratio\": null"));
}

TEST(Ratio, OnlyProfilesWithBothEventsGoIn) {
  TwoMachines fleet;
  fleet.add({.seed = 3, .machine = "m1", .job = "db", .stacks = "main 1000000\n"});
  const auto table = fleet.top({{"ratio", "ipc"}, {"by", "job"}});
  EXPECT_DOUBLE_EQ(number(*table, 0, "ratio"), 0.7);
  EXPECT_THAT(table->notes, ElementsAre("1 of 3 profiles are not used: they lack one of the events"));
}

TEST(Ratio, CountersThatNeverGotTheirTurnAreNoZero) {
  TwoMachines fleet;
  wire::RawProfile starved =
      make_profile({.seed = 3, .machine = "m3", .events = kBoth, .job = "db", .stacks = "main 1000000\n"});
  starved.mutable_events(1)->set_time_running_ns(0);
  fleet.add(starved);
  const auto table = fleet.top({{"ratio", "ipc"}, {"by", "job"}});
  EXPECT_DOUBLE_EQ(number(*table, 0, "ratio"), 0.7);
  EXPECT_THAT(table->notes, ElementsAre(HasSubstr("1 of 3 profiles")));
}

TEST(Ratio, NoProfileWithBothIsAnEmptyTableThatSaysWhy) {
  Fleet fleet;
  fleet.add({.seed = 1, .stacks = "main 1\n"});
  fleet.add({.seed = 2, .events = {{.name = "instructions"}}, .stacks = "main 1\n"});
  const auto table = fleet.top({{"ratio", "ipc"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->rows, IsEmpty());
  EXPECT_EQ(table->coverage.samples, 0);
  EXPECT_THAT(table->notes,
              ElementsAre(HasSubstr("2 of 2 profiles"), HasSubstr("no results: no usable profile")));
}

TEST(Ratio, WhereNobodyCountsAnEventTheErrorSaysWhatThereIs) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cpu-clock", .unit = wire::NANOSECONDS}}, .stacks = "main 1\n"});
  const auto table = fleet.top({{"ratio", "ipc"}});
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(table.error().field, "ratio");
  EXPECT_THAT(table.error().message, HasSubstr("\"instructions\""));
  EXPECT_THAT(table.error().hint,
              ::testing::AllOf(HasSubstr("with samples: cpu-clock"),
                               HasSubstr("without that hardware counter"), HasSubstr("absent, not zero")));
}

TEST(Ratio, NamesMayHaveSlashesOfTheirOwn) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cpu/event=0x3c,umask=0x1/"}, {.name = "cycles"}},
             .stacks = "event=cpu/event=0x3c,umask=0x1/ main 50\nevent=cycles main 100\n"});
  for (const auto& [ratio, value] : std::vector<std::pair<std::string, double>>{
           {"cpu/event=0x3c,umask=0x1//cycles", 0.5}, {"cycles/cpu/event=0x3c,umask=0x1/", 2}}) {
    const auto table = fleet.top({{"ratio", ratio}});
    ASSERT_TRUE(table) << table.error().text();
    EXPECT_DOUBLE_EQ(number(*table, 0, "ratio"), value);
  }
}

TEST(Ratio, RowsStandByTheirDenominatorUpToTheLimit) {
  Fleet fleet;
  fleet.add({.events = kBoth,
             .stacks = "a 40\nb 60\nc 50\nd 50\nevent=instructions a 90\nevent=instructions b 10\n"});
  const auto table = fleet.top({{"ratio", "ipc"}, {"limit", "3"}});
  std::vector<std::string> names;
  for (const auto& row : table->rows) {
    names.push_back(std::get<std::string>(row[0]));
  }
  EXPECT_THAT(names, ElementsAre("b", "c", "d"));
}

TEST(Ratio, WeightsOfTheDrawCount) {
  const auto drawn = [](uint64_t seed, const std::string& machine, double probability,
                        const std::string& stacks) {
    wire::RawProfile profile =
        make_profile({.seed = seed, .machine = machine, .events = kBoth, .job = "db", .stacks = stacks});
    wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
    draw.set_id("d1");
    draw.set_inclusion_probability(probability);
    return profile;
  };
  Fleet fleet;
  fleet.add(drawn(1, "m1", 0.1, "main 100\nevent=instructions main 100\n"));
  fleet.add(drawn(2, "m2", 0.5, "main 500\nevent=instructions main 100\n"));
  const auto table = fleet.top({{"ratio", "ipc"}, {"by", "job"}});
  // Ten times 200,000 and twice 200,000 over ten times 100,000 and twice 500,000.
  EXPECT_DOUBLE_EQ(number(*table, 0, "ratio"), 1.2);
  EXPECT_DOUBLE_EQ(number(*table, 0, "denominator"), 2'000'000);
}

TEST(Ratio, OfAFleetObservedAsAWholeHasNoUncertaintyBetweenMachines) {
  const auto ask = [](double probability) {
    Fleet fleet;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      wire::RawProfile profile =
          make_profile({.seed = seed,
                        .machine = fmt::format("m{}", seed),
                        .events = kBoth,
                        .job = "db",
                        .stacks = fmt::format("main 1000\nevent=instructions main {}\n", 300 + 100 * seed)});
      wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
      draw.set_id("d1");
      draw.set_inclusion_probability(probability);
      fleet.add(profile);
    }
    return *fleet.top({{"ratio", "ipc"}, {"by", "job"}});
  };
  const Table whole = ask(1);
  const Table part = ask(0.01);
  EXPECT_THAT(lines(whole), HasSubstr("within machines"));
  EXPECT_THAT(lines(part), HasSubstr("few machines"));
  EXPECT_DOUBLE_EQ(number(whole, 0, "ratio"), number(part, 0, "ratio"));
  EXPECT_LT(number(whole, 0, "ratio_margin"), number(part, 0, "ratio_margin"));
}

TEST(Ratio, AMachineWithAnotherKernelIsTheSameMachine) {
  Fleet fleet;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    wire::RawProfile profile = make_profile(
        {.seed = seed, .events = kBoth, .job = "db", .stacks = "main 100\nevent=instructions main 100\n"});
    profile.mutable_machine()->set_kernel_release(fmt::format("6.{}", seed));
    fleet.add(profile);
  }
  EXPECT_THAT(lines(fleet.top({{"ratio", "ipc"}, {"by", "job"}})),
              HasSubstr("within one machine|4e+05|2e+05|1|"));
}

TEST(Ratio, MarginsStandOnSamplesNotOnTheHitsTheyAreWeightedBy) {
  wire::RawProfile profile = make_profile({.events = {{.name = "cycles"}, {.name = "instructions"}},
                                           .stacks = "main 400000\nevent=instructions main 500000\n"});
  profile.mutable_events(0)->set_samples(40);
  profile.mutable_events(1)->set_samples(50);
  Fleet fleet;
  fleet.add(profile);
  const auto table = fleet.top({{"ratio", "ipc"}});
  EXPECT_NEAR(number(*table, 0, "ratio_margin"),
              margin(1.25, 1.25 * kNormal * std::sqrt(1.0 / 40 + 1.0 / 50)), 1e-6);
  EXPECT_EQ(table->coverage.samples, 90);
}

TEST(Ratio, CoverageIsOfBothEvents) {
  const auto table = TwoMachines().top({{"ratio", "ipc"}, {"by", "job"}});
  EXPECT_EQ(table->coverage.samples, 540);
  EXPECT_EQ(table->coverage.machines_drawn, 2);
  EXPECT_EQ(table->coverage.unsymbolized_share, 0);
}

TEST(Ratio, AnEventOverItselfIsOne) {
  EXPECT_DOUBLE_EQ(number(*TwoMachines().top({{"ratio", "cycles/cycles"}, {"by", "job"}}), 0, "ratio"), 1);
}

TEST(Ratio, TextsThatAreNoRatioAreRefused) {
  const TwoMachines fleet;
  for (const char* text : {"", "cycles", "/cycles", "cycles/", "/"}) {
    const auto table = fleet.top({{"ratio", text}});
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(table.error().field, "ratio");
  }
  EXPECT_EQ(fleet.top({{"ratio", "ipc"}, {"event", "cycles"}}).error().field, "event");
}

}  // namespace
}  // namespace plimsoll::query
