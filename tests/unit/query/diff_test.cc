#include "query/views/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/time.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class DiffTest : public ::testing::Test {
 protected:
  Result<Table> ask(const Parameters& parameters, int64_t now_ns = 0) const {
    const auto request = parse_diff(parameters, now_ns);
    if (!request) {
      return propagate(request);
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return snapshot ? diff(*request, **snapshot) : Result<Table>(propagate(snapshot));
  }

  void add(const std::string& machine, const std::string& job, const std::string& stacks,
           int64_t from_ns = kProfileStartNs, int64_t length_ns = kNsPerSecond) {
    fleet_.add({.seed = ++seed_,
                .machine = machine,
                .from_ns = from_ns,
                .length_ns = length_ns,
                .job = job,
                .stacks = stacks});
  }

  // A line for each row: its name, what is asked for of self, and the verdict.
  static std::string changes(const Result<Table>& table, const std::string& part = "self") {
    if (!table) {
      return table.error().text();
    }
    const std::string measure =
        column_of(*table, "base_self_share") < table->columns.size() ? "share" : "rate";
    std::string text;
    for (const auto& row : table->rows) {
      const auto number = [&](const std::string& name) {
        return std::get<double>(row[column_of(*table, name)]);
      };
      const Value& verdict = row[column_of(*table, part + "_verdict")];
      text += fmt::format(
          "{}: {:.4g} -> {:.4g}, {:+.4g}{}\n", std::get<std::string>(row[0]),
          number(fmt::format("base_{}_{}", part, measure)), number(fmt::format("new_{}_{}", part, measure)),
          number(fmt::format("{}_{}_change", part, measure)),
          std::holds_alternative<std::string>(verdict) ? ", " + std::get<std::string>(verdict) : "");
    }
    return text;
  }

  Fleet fleet_;
  uint64_t seed_ = 0;
};

TEST_F(DiffTest, SharesAreOfEachSideAndRowsOfEither) {
  add("m1", "a", "main;parse 30\nmain;lex 70\n");
  add("m1", "b", "main;parse 120\nmain;print 80\n");
  EXPECT_EQ(changes(ask({{"base_where", "job=a"}, {"new_where", "job=b"}, {"margins", "no"}})),
            "lex: 0.7 -> 0, -0.7\n"
            "print: 0 -> 0.4, +0.4\n"
            "parse: 0.3 -> 0.6, +0.3\n"
            "main: 0 -> 0, +0\n");
  EXPECT_EQ(changes(ask({{"base_where", "job=a"}, {"new_where", "job=b"}, {"margins", "no"}}), "total"),
            "lex: 0.7 -> 0, -0.7\n"
            "print: 0 -> 0.4, +0.4\n"
            "parse: 0.3 -> 0.6, +0.3\n"
            "main: 1 -> 1, +0\n");
}

TEST_F(DiffTest, ChangesOnOneMachineAreJudgedByTheNoiseOfItsCounts) {
  add("m1", "a", "main;parse 3000\nmain;lex 7000\nmain;idle 100\n");
  add("m1", "b", "main;parse 3300\nmain;lex 6700\nmain;idle 110\n");
  const auto table = ask({{"base_where", "job=a"}, {"new_where", "job=b"}});
  EXPECT_EQ(changes(table),
            "lex: 0.6931 -> 0.6627, -0.03036, less\n"
            "parse: 0.297 -> 0.3264, +0.02938, more\n"
            "idle: 0.009901 -> 0.01088, +0.0009793, may be chance\n"
            "main: 0 -> 0, +0, cannot tell\n");
}

TEST_F(DiffTest, OfManyMachinesTheChangeStandsFirstAndChanceIsCalledChance) {
  for (int machine = 0; machine < 40; ++machine) {
    // Machines differ by a factor of three in lex, and spread their noise; parse takes a tenth more.
    const int lex = 1000 + 50 * (machine % 40);
    const int noise = machine % 7;
    add(fmt::format("m{}", machine), "a",
        fmt::format("main;parse {}\nmain;lex {}\nmain;copy {}\n", 500 + noise, lex, 300 - noise));
    add(fmt::format("m{}", machine), "b",
        fmt::format("main;parse {}\nmain;lex {}\nmain;copy {}\n", 550 + machine % 5, lex, 300 - machine % 6));
  }
  const auto table = ask({{"base_where", "job=a"}, {"new_where", "job=b"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "parse");
  EXPECT_EQ(std::get<std::string>(table->rows[0][column_of(*table, "self_verdict")]), "more");
  EXPECT_EQ(std::get<std::string>(table->rows[0][column_of(*table, "self_share_change_margin_kind")]),
            "between machines");
  EXPECT_LT(std::get<double>(table->rows[0][column_of(*table, "self_p")]), 0.02);
  const auto same = ask({{"base_where", "machine=~^m.?[02468]$"}, {"new_where", "machine=~^m.?[13579]$"}});
  ASSERT_TRUE(same) << same.error().text();
  for (const auto& row : same->rows) {
    EXPECT_EQ(std::get<std::string>(row[column_of(*same, "self_verdict")]), "may be chance");
  }
}

TEST_F(DiffTest, TooFewMachinesCannotTell) {
  for (int machine = 0; machine < 3; ++machine) {
    add(fmt::format("m{}", machine), "a", "main;parse 300\nmain;lex 500\nmain;copy 200\n");
    add(fmt::format("m{}", machine), "b", "main;parse 600\nmain;lex 300\nmain;copy 100\n");
  }
  const auto table = ask({{"base_where", "job=a"}, {"new_where", "job=b"}});
  EXPECT_EQ(changes(table),
            "parse: 0.3 -> 0.6, +0.3, cannot tell\n"
            "lex: 0.5 -> 0.3, -0.2, cannot tell\n"
            "copy: 0.2 -> 0.1, -0.1, cannot tell\n"
            "main: 0 -> 0, +0, cannot tell\n");
}

TEST_F(DiffTest, RatesAreForEachMachineAndSecond) {
  // Two machines for two seconds, one machine for four.
  add("m1", "a", "main 600\n", kProfileStartNs, 2 * kNsPerSecond);
  add("m2", "a", "main 200\n", kProfileStartNs, 2 * kNsPerSecond);
  add("m1", "a", "main 1000\n", kProfileStartNs + kNsPerHour, 4 * kNsPerSecond);
  const auto table = ask(
      {{"base_until", "2023-11-14T23:00:00Z"}, {"new_since", "2023-11-14T23:00:00Z"}, {"measure", "rate"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->columns[1].unit, "count/s");
  EXPECT_THAT(changes(table), HasSubstr("main: 200 -> 250, +50, "));
}

TEST_F(DiffTest, TheBaseMayBeTheSameEarlier) {
  add("m1", "a", "main 100\n", kProfileStartNs);
  add("m1", "a", "main 300\nother 100\n", kProfileStartNs + 24 * kNsPerHour);
  const int64_t now_ns = kProfileStartNs + 24 * kNsPerHour + 60 * kNsPerSecond;
  EXPECT_EQ(changes(ask({{"since", "1h"}, {"earlier", "1d"}, {"margins", "no"}}, now_ns)),
            "main: 1 -> 0.75, -0.25\n"
            "other: 0 -> 0.25, +0.25\n");
}

TEST_F(DiffTest, NotesSayWhatTheSidesAre) {
  add("m1", "a", "main 100\n");
  add("m2", "b", "main 300\n");
  const auto table = ask({{"base_where", "job=a"}, {"new_where", "job=b"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes, Contains(HasSubstr("base: 100 samples; job=a; ")));
  EXPECT_THAT(table->notes, Contains(HasSubstr("new: 300 samples; job=b; ")));
  EXPECT_EQ(table->coverage.samples, 400);
  EXPECT_EQ(table->coverage.machines_drawn, 2);
}

TEST_F(DiffTest, ASideWithoutSamplesIsAnErrorThatSaysWhich) {
  add("m1", "a", "main 100\n");
  const auto table = ask({{"base_where", "job=a"}, {"new_where", "job=b"}});
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(table.error().text(), AllOf(HasSubstr("the new side has no samples"), HasSubstr("job=b")));
}

TEST_F(DiffTest, WhatCannotBeComparedIsRefused) {
  const auto refusal = [](const Parameters& parameters) {
    const auto request = parse_diff(parameters, 0);
    return request ? "" : request.error().field + ": " + request.error().text();
  };
  EXPECT_THAT(refusal({}), AllOf(HasSubstr("base_where: "), HasSubstr("the same"), HasSubstr("earlier")));
  EXPECT_THAT(refusal({{"base_where", "job=a"}, {"new_where", "job=a"}}), HasSubstr("the same"));
  EXPECT_THAT(refusal({{"earlier", "1d"}}), HasSubstr("requires since"));
  EXPECT_THAT(refusal({{"since", "1h"}, {"earlier", "soon"}}), HasSubstr("earlier: "));
  EXPECT_THAT(refusal({{"since", "1h"}, {"earlier", "1d"}, {"base_since", "2h"}}),
              HasSubstr("cannot be combined with base_since"));
  EXPECT_THAT(refusal({{"base_event", "cycles"}}), HasSubstr("unknown parameter \"base_event\""));
  EXPECT_THAT(refusal({{"base_wher", "job=a"}}), HasSubstr("did you mean base_where"));
  EXPECT_THAT(refusal({{"measure", "weight"}}), HasSubstr("not share or rate"));
  EXPECT_THAT(refusal({{"new_where", "jib=a"}}), HasSubstr("new_where: "));
  EXPECT_THAT(refusal({{"new_since", "1h"}, {"new_until", "2h"}}), HasSubstr("the time range is empty"));
}

}  // namespace
}  // namespace plimsoll::query
