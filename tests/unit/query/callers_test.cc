#include "query/views/callers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// m1 and m2 run the same, m2 ten times as much; what calls copy, what copy calls, recursion and inlined frames.
class CallersTest : public ::testing::Test {
 protected:
  CallersTest() {
    fleet_.add({.seed = 1,
                .machine = "m1",
                .stacks = "main;parse;copy 10\n"
                          "main;parse;copy;fault 5\n"
                          "main;print>copy 3\n"  // copy was inlined into print
                          "main;walk;walk;visit;walk;copy 2\n"
                          "copy>move 4\n"  // the root, and move inlined into it
                          "main;idle 100\n"});
    fleet_.add({.seed = 2, .machine = "m2", .stacks = "main;parse;copy 100\nmain;idle 7\n\"\" 3\n"});
  }

  template <typename Parse>
  Result<Table> ask(Parse parse, const Parameters& parameters) const {
    const auto request = parse(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return snapshot ? callers(*request, **snapshot) : Result<Table>(propagate(snapshot));
  }
  std::string callers_of(const Parameters& parameters) const { return brief(ask(parse_callers, parameters)); }
  std::string callees_of(const Parameters& parameters) const { return brief(ask(parse_callees, parameters)); }

  Fleet fleet_;
};

TEST_F(CallersTest, CallersAddUpToTheFunctionsTotal) {
  EXPECT_EQ(callers_of({{"function", "copy"}}),
            "parse 115\n"
            "[no caller] 4\n"
            "print 3\n"
            "walk 2\n");
}

TEST_F(CallersTest, CalleesAddUpToItToo) {
  EXPECT_EQ(callees_of({{"function", "copy"}}),
            "[itself] 115\n"
            "fault 5\n"
            "move 4\n");
}

TEST_F(CallersTest, OfRecursionTheOutermostIsCalledAndTheInnermostCalls) {
  EXPECT_EQ(callers_of({{"function", "walk"}}), "main 2\n");
  EXPECT_EQ(callees_of({{"function", "walk"}}), "copy 2\n");
}

TEST_F(CallersTest, OfSeveralFunctionsAllThatMatchAreOne) {
  EXPECT_EQ(callers_of({{"of", "function in walk,visit,copy"}}),
            "parse 115\n"
            "[no caller] 4\n"
            "print 3\n"
            "main 2\n");
  EXPECT_EQ(callees_of({{"of", "function=~^(parse|copy)$"}}),
            "[itself] 115\n"
            "fault 5\n"
            "move 4\n");
}

TEST_F(CallersTest, ATildeMeansAllThatMatch) {
  EXPECT_EQ(callers_of({{"function", "~^(walk|visit|copy)$"}}),
            callers_of({{"of", "function in walk,visit,copy"}}));
  EXPECT_THAT(ask(parse_callers, {{"function", "~["}}).error().message,
              HasSubstr("not a regular expression"));
}

// What is called memcpy in the source is, nearly always, what the linker chose for the processor.
TEST(Namesakes, WithMoreThanTheFunctionAreNamed) {
  Fleet fleet;
  fleet.add({.stacks = "main;load;memcpy 1\n"
                       "main;__memcpy_avx_unaligned 30\n"
                       "main;__memcpy_ssse3 3\n"
                       "main;memory 66\n"});
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot);
  const auto table = callers(*parse_callers({{"function", "memcpy"}}, 0), **snapshot);
  ASSERT_TRUE(table);
  EXPECT_EQ(brief(*table), "load 1\n");
  EXPECT_THAT(table->notes, ::testing::Contains(
                                "memcpy has 1.00 % of all samples, but __memcpy_avx_unaligned (30.00 %), "
                                "__memcpy_ssse3 (3.00 %) have more; give \"~memcpy\" to select all of them"));
  const auto largest = callers(*parse_callers({{"function", "__memcpy_avx_unaligned"}}, 0), **snapshot);
  EXPECT_THAT(largest->notes, ::testing::Not(::testing::Contains(HasSubstr("to select all of them"))));
}

TEST_F(CallersTest, OfNoStackIsItself) {
  EXPECT_EQ(callers_of({{"function", "[no stack]"}}), "[no caller] 3\n");
  EXPECT_EQ(callees_of({{"function", "[no stack]"}}), "[itself] 3\n");
}

TEST_F(CallersTest, SharesAreOfTheFunctionsTotalWithinTheFilters) {
  const auto table = ask(parse_callers, {{"function", "copy"}, {"where", "machine=m1"}, {"limit", "1"}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->columns[0].name, "caller");
  ASSERT_EQ(table->rows.size(), 1);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "parse");
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][column_of(*table, "total")]), 15);
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][column_of(*table, "total_share")]), 15.0 / 24);
  EXPECT_EQ(column_of(*table, "self"), table->columns.size());
  EXPECT_EQ(table->coverage.samples, 24);
}

TEST_F(CallersTest, MarginsAreThoseOfTop) {
  Fleet fleet;
  for (uint64_t i = 0; i < 50; ++i) {
    fleet.add({.seed = i + 1,
               .machine = fmt::format("m{}", i),
               .stacks = fmt::format("main;parse;copy {}\nmain;copy {}\nmain 5\n", 20 + i % 7, 60 + i % 3)});
  }
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot);
  const auto table = callers(*parse_callers({{"function", "copy"}}, 0), **snapshot);
  const auto by_stack = fleet.top({{"by", "stack"}, {"where", "function=copy"}});
  ASSERT_TRUE(table && by_stack);
  EXPECT_EQ(brief(*table), "main 3049\nparse 1147\n");
  for (size_t row = 0; row < 2; ++row) {
    for (const char* column : {"total_share_margin", "total_share_low", "total_share_high"}) {
      EXPECT_DOUBLE_EQ(std::get<double>(table->rows[row][column_of(*table, column)]),
                       std::get<double>(by_stack->rows[row][column_of(*by_stack, column)]))
          << column;
    }
  }
}

TEST_F(CallersTest, AFunctionThatIsNowhereHasItsNearestNamed) {
  const auto table = ask(parse_callers, {{"function", "copi"}});
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(table.error().text(), AllOf(HasSubstr("function=copi"), HasSubstr("Did you mean copy?")));
  EXPECT_THAT(ask(parse_callers, {{"function", "print"}, {"where", "machine=m2"}}).error().text(),
              HasSubstr("stacks outside the selection have it"));
}

TEST_F(CallersTest, WhatIsNoFunctionIsRefused) {
  const auto refusal = [](const Parameters& parameters) {
    const auto request = parse_callers(parameters, 0);
    return request ? "" : request.error().field + ": " + request.error().text();
  };
  EXPECT_THAT(refusal({}), HasSubstr("function: a function is required"));
  EXPECT_THAT(refusal({{"function", "a"}, {"of", "binary=b"}}),
              HasSubstr("FUNCTION and --of are given more than once"));
  EXPECT_THAT(refusal({{"of", "job=a"}}), HasSubstr("is not a filter on frames"));
  EXPECT_THAT(refusal({{"of", "function!=a"}}), HasSubstr("is not a filter on frames"));
  EXPECT_THAT(refusal({{"functoin", "a"}}), HasSubstr("did you mean function"));
  EXPECT_EQ(refusal({{"function", "operator==(A, B)"}}), "");
}

}  // namespace
}  // namespace plimsoll::query
