#include "query/views/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/time.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class CompareTest : public ::testing::Test {
 protected:
  // A job on a machine: so many cycles, and as many instructions as its IPC makes of them.
  void add(const std::string& machine, const std::string& job, double cycles, double ipc) {
    const wire::RawProfile profile = make_profile(
        {.seed = ++seed_,
         .machine = machine,
         .events = {{.name = "cycles"}, {.name = "instructions"}},
         .job = job,
         .stacks = fmt::format("main {:.0f}\nevent=instructions main {:.0f}\n", cycles, cycles * ipc)});
    ASSERT_TRUE(fleet_.ingest().accept(as_bytes(wire::encode(profile)), {}));
  }

  // Old machines are called old..., new ones new...; they differ by a few per cent, in turns.
  void add_on(const std::string& generation, int machines, const std::string& job, double cycles,
              double ipc) {
    for (int i = 0; i < machines; ++i) {
      add(fmt::format("{}{}", generation, i), job, cycles, ipc * (1 + 0.01 * (i % 5 - 2)));
    }
  }

  void add_quota(const std::string& machine, const std::string& job, double cpus) {
    wire::InstanceUsage usage;
    usage.set_job(job);
    usage.set_quota_cpus(cpus);
    live_.censuses.push_back({.machine_id = machine, .taken_ns = 1, .interval_ns = 1, .instances = {usage}});
  }

  Result<Table> ask(Parameters parameters) {
    parameters.insert(parameters.begin(), {{"base_where", "machine=~^old"}, {"new_where", "machine=~^new"}});
    const auto request = parse_compare(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    while (fleet_.ingest().build_pending()->profiles > 0) {
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return snapshot ? compare(*request, **snapshot, live_) : Result<Table>(propagate(snapshot));
  }

  // A line for each row: its name, weight, base, new, change and verdict.
  static std::string lines(const Result<Table>& table) {
    if (!table) {
      return table.error().text();
    }
    std::string text;
    for (const auto& row : table->rows) {
      const auto number = [&](const std::string& name) {
        const auto* value = std::get_if<double>(&row[column_of(*table, name)]);
        return value == nullptr ? std::string("-") : fmt::format("{:.4g}", *value);
      };
      text += fmt::format("{}: weight {}; {} -> {}: {}; {}\n", std::get<std::string>(row[0]),
                          number("weight"), number("base_ratio"), number("new_ratio"), number("ratio_change"),
                          std::get<std::string>(row[column_of(*table, "verdict")]));
    }
    return text;
  }

  Fleet fleet_;
  LiveFleet live_;
  uint64_t seed_ = 0;
};

// Both jobs gain a tenth; but the slow one has moved to the new machines, so that all over all loses.
TEST_F(CompareTest, AChangeOfMixIsNoChangeOfHardware) {
  add_on("old", 20, "slow", 2000, 0.5);
  add_on("old", 20, "fast", 8000, 2.0);
  add_on("new", 20, "slow", 8000, 0.55);
  add_on("new", 20, "fast", 2000, 2.2);
  EXPECT_EQ(lines(ask({})),
            "[fixed mix]: weight 1; - -> -: 0.1; higher\n"
            "[actual mix]: weight -; 1.7 -> 0.88: -0.4824; lower\n"
            "fast: weight 0.8; 2 -> 2.2: 0.1; higher\n"
            "slow: weight 0.2; 0.5 -> 0.55: 0.1; higher\n");
}

TEST_F(CompareTest, JobsWeighTheirQuotas) {
  add_on("old", 20, "search", 8000, 1.0);
  add_on("old", 20, "mail", 2000, 2.0);
  add_on("new", 20, "search", 8000, 1.2);
  add_on("new", 20, "mail", 2000, 1.8);
  add_quota("old0", "search", 1);
  add_quota("new0", "search", 1);
  add_quota("old1", "mail", 6);
  const auto table = ask({});
  EXPECT_EQ(lines(table),
            "[by quota]: weight 1; - -> -: -0.025; lower\n"  // (2 x 0.2 - 6 x 0.1) / 8
            "[actual mix]: weight -; 1.2 -> 1.32: 0.1; higher\n"
            "mail: weight 0.75; 2 -> 1.8: -0.1; lower\n"
            "search: weight 0.25; 1 -> 1.2: 0.2; higher\n");
  EXPECT_THAT(table->notes, Contains("compared 2 of 2 jobs, with 100.0 % of the weight"));
}

TEST_F(CompareTest, JobsThatCannotBeComparedAreLeftOutAndSaidWhy) {
  add_on("old", 20, "both", 1000, 1.0);
  add_on("new", 20, "both", 1000, 1.0);
  add_on("old", 20, "left", 1000, 1.0);
  add_on("new", 20, "came", 1000, 1.0);
  add_on("old", 20, "rare", 1000, 1.0);
  add_on("new", 4, "rare", 1000, 3.0);
  add_on("old", 20, "free", 1000, 1.0);
  add_on("new", 20, "free", 1000, 2.0);
  for (const auto& [job, cpus] : {std::pair("both", 5.0), {"left", 2.0}, {"rare", 2.0}, {"came", 1.0}}) {
    add_quota("old0", job, cpus);
  }
  const auto table = ask({});
  EXPECT_EQ(lines(table),
            "[by quota]: weight 0.5; - -> -: 0; cannot tell\n"
            "[actual mix]: weight -; 1 -> 1.437: 0.4366; higher\n"
            "both: weight 0.5; 1 -> 1: 0; cannot tell\n"
            "left: weight 0.2; 1 -> -: -; left out: no samples on the new side\n"
            "rare: weight 0.2; 1 -> 2.985: 1.985; left out: too few machines\n"
            "came: weight 0.1; - -> 1: -; left out: no samples on the base side\n"
            "free: weight 0; 1 -> 2: 1; left out: no quota\n");
  EXPECT_THAT(table->notes, Contains("compared 1 of 5 jobs, with 50.0 % of the weight"));
  // Twelve on either side make a margin.
  EXPECT_EQ(std::get<int64_t>(table->rows[4][column_of(*table, "machines_needed")]), 8);
}

TEST_F(CompareTest, SaysHowManyMoreMachinesTheWantedMarginTakes) {
  add_on("old", 40, "job", 1000, 1.0);
  add_on("new", 40, "job", 1000, 1.0);
  const auto wide = ask({{"margin", "10%"}});
  ASSERT_TRUE(wide) << wide.error().text();
  const size_t more = column_of(*wide, "machines_needed");
  const double margin = std::get<double>(wide->rows[2][column_of(*wide, "ratio_change_margin")]);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(wide->rows[2][more])) << margin << " is narrow enough";
  // A margin goes with the root of the machines.
  const auto narrow = ask({{"margin", fmt::format("{}", margin / 2)}});
  ASSERT_TRUE(narrow) << narrow.error().text();
  EXPECT_NEAR(static_cast<double>(std::get<int64_t>(narrow->rows[2][more])), 3 * 80, 1);
}

// Of twenty jobs without a change one has p under 0.05 by chance; said of none.
TEST_F(CompareTest, ManyJobsAreOneFamily) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> speed(0, 0.1);
  for (int job = 0; job < 20; ++job) {
    for (const char* generation : {"old", "new"}) {
      for (int i = 0; i < 15; ++i) {
        add(fmt::format("{}{}", generation, i), fmt::format("job{}", job), 1000, speed(random));
      }
    }
  }
  const auto table = ask({{"limit", "100"}});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 22);
  for (size_t row = 2; row < table->rows.size(); ++row) {
    EXPECT_EQ(std::get<std::string>(table->rows[row][column_of(*table, "verdict")]), "cannot tell");
  }
}

TEST_F(CompareTest, WhatDoesNotFitIsSaid) {
  add_on("old", 2, "job", 1000, 1.0);
  add_on("new", 2, "job", 1000, 1.0);
  EXPECT_THAT(lines(ask({{"event", "cycles"}})), HasSubstr("unknown parameter \"event\""));
  EXPECT_THAT(lines(ask({{"ratio", "ipcc"}})), HasSubstr("ratio is \"ipcc\""));
  EXPECT_THAT(lines(ask({{"ratio", "instructions/cycels"}})), HasSubstr("cycels"));
  EXPECT_THAT(lines(ask({{"margin", "0"}})), HasSubstr("margin is 0"));
  EXPECT_THAT(lines(ask({{"where", "job=none"}})), HasSubstr("the base side has no samples"));
  EXPECT_THAT(parse_compare({}, 0).error().text(), HasSubstr("the two sides of the comparison are the same"));
}

}  // namespace
}  // namespace plimsoll::query
