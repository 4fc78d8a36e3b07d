// What a statement may cost: whatever it is, it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/sql/sql.h"
#include "tests/unit/query/sql_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using SqlLimits = SqlTest;

TEST_F(SqlLimits, WhatCostsTooMuchIsStopped) {
  add_profiles();
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
  const auto stopped = ask(endless + "sum(i) FROM n", {.time = std::chrono::milliseconds(1)});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kTooLarge);
  const auto too_many = ask(endless + "i FROM n", {.rows = 10});
  ASSERT_FALSE(too_many);
  EXPECT_THAT(too_many.error().text(), AllOf(HasSubstr("over 10 rows"), HasSubstr("LIMIT")));
  const auto too_long = ask(endless + "hex(zeroblob(1000)) FROM n", {.answer_bytes = 100'000});
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().text(), HasSubstr("over 100000 bytes"));
}

// Rows without end, none of which a filter selects.
class EndlessRows : public store::RowSource {
 public:
  Result<store::Cells> aggregate(const store::AggregateRequest&) const override { return store::Cells(); }
  std::unique_ptr<store::RowCursor> scan(store::RowFilter) const override {
    return std::make_unique<Cursor>();
  }

 private:
  class Cursor : public store::RowCursor {
   public:
    Result<std::span<const store::Row>> next() override {
      while (true) {
        if (auto go_on = check(); !go_on) {
          return propagate(go_on);
        }
      }
    }
  };
};

TEST_F(SqlLimits, AScanEndsBetweenTwoRowsThatArePassedOver) {
  add_profiles();
  snapshot_.rows = std::make_unique<EndlessRows>();
  const auto out_of_time = ask("SELECT count(*) FROM samples", {.time = std::chrono::milliseconds(1)});
  ASSERT_FALSE(out_of_time);
  EXPECT_EQ(out_of_time.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(out_of_time.error().text(),
              AllOf(HasSubstr("stopped after 0.001 s"), HasSubstr("select less")));
  int asked = 0;
  const auto abandoned = ask("SELECT count(*) FROM samples", {.is_abandoned = [&] { return ++asked == 2; }});
  ASSERT_FALSE(abandoned);
  EXPECT_EQ(abandoned.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(asked, 2);
}

TEST_F(SqlLimits, LookingThroughADictionaryEndsInTime) {
  add_profiles();
  auto& stacks = snapshot_.dictionaries.stacks;
  for (int i = 0; i < 1'000'000; ++i) {
    stacks.push_back({stacks.back()});
  }
  const auto stopped =
      ask("SELECT count(*) FROM samples WHERE stack LIKE '%lex%'", {.time = std::chrono::milliseconds(1)});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(rows_read_, 0);
}

TEST_F(SqlLimits, ParsingIsBoundedToo) {
  std::string doubling = "WITH a0 AS (SELECT 1)";
  for (int i = 1; i <= 40; ++i) {
    doubling += fmt::format(", a{0} AS (SELECT 1 FROM a{1} x, a{1} y)", i, i - 1);
  }
  doubling += " SELECT count(*) FROM a40";
  load();
  const auto too_much = ask(doubling, {.memory_bytes = size_t{16} << 20});
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(too_much.error().text(), HasSubstr("over 16777216 bytes of memory"));
  const auto too_long =
      ask(doubling, {.time = std::chrono::milliseconds(1), .memory_bytes = size_t{1} << 40});
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().text(), HasSubstr("stopped after 0.001 s"));
  EXPECT_TRUE(ask("SELECT 1")) << "the next statement has memory again";
}

TEST_F(SqlLimits, FunctionsAreSQLitesOwnInLinearTime) {
  load();
  const std::string million = "replace(hex(zeroblob(500000)), '0', 'a')";
  const std::string half = "replace(hex(zeroblob(250000)), '0', 'a')";
  EXPECT_EQ(answer(fmt::format("SELECT instr({}, {} || 'b')", million, half)), "0\n");
  EXPECT_EQ(answer(fmt::format("SELECT length(replace({}, {} || 'b', ''))", million, half)), "1000000\n");
  EXPECT_EQ(answer(fmt::format("SELECT length(trim({}, replace({}, 'a', 'b') || 'a'))", million, half)),
            "0\n");
  EXPECT_THAT(answer(fmt::format("SELECT replace({0}, 'a', {0})", million)), HasSubstr("too big"));
}

TEST_F(SqlLimits, FunctionsAnswerAsSQLiteDoes) {
  load();
  auto plain = *sqlite::Database::open(fleet_.path() + "/plain.db", sqlite::OpenMode::kReadWrite);
  const std::vector<std::string> values{"''",        "'a'",   "'aba'", "'aab'", "'äöä'", "'ä'",
                                        "'öä'",      "'€a'",  "'aaa'", "12",    "1.5",   "NULL",
                                        "x'616261'", "x'61'", "x''",   "'b'",   "1"};
  for (const std::string& x : values) {
    for (const std::string& y : values) {
      std::string statement = fmt::format("SELECT quote(instr({0}, {1}))", x, y);
      for (const std::string function : {"trim", "ltrim", "rtrim"}) {
        statement += fmt::format(" || ' ' || quote({}({}, {}))", function, x, y);
      }
      for (const std::string& z : values) {
        statement += fmt::format(" || ' ' || quote(replace({}, {}, {}))", x, y, z);
      }
      auto expected = plain.query(statement);
      ASSERT_TRUE(expected && *expected->step());
      ASSERT_EQ(answer(statement), std::string(expected->text(0)) + "\n") << statement;
    }
  }
}

TEST_F(SqlLimits, FormatsAreOfBoundedWidth) {
  load();
  EXPECT_THAT(answer("SELECT printf('%.*c', 1000000000, 'x')"), HasSubstr("over 1000"));
  EXPECT_THAT(answer("SELECT format('%2000000000d', 1)"), HasSubstr("over 1000"));
  EXPECT_THAT(answer("SELECT printf('%*d', -1001, 1)"), HasSubstr("over 1000"));
  EXPECT_THAT(answer("SELECT printf(replace(hex(zeroblob(5000)), '0', '%999d'))"), HasSubstr("too big"));
  EXPECT_FALSE(ask("SELECT json_patch('{}', '{}')"));
}

TEST_F(SqlLimits, FormatsAreSQLitesOwn) {
  load();
  auto plain = *sqlite::Database::open(fleet_.path() + "/plain.db", sqlite::OpenMode::kReadWrite);
  const std::vector<std::string> values{"0",      "-7",    "1234567", "1.5",  "-0.001", "1e300",
                                        "'text'", "'äöü'", "''",      "NULL", "x'61'"};
  for (const std::string format :
       {"%d",    "%5d|", "%-5d|", "%05d",  "%+d",   "%,d",    "%ld",  "%lld",  "%i",     "%u",
        "%x",    "%X",   "%#x",   "%o",    "%r",    "%p",     "%f",   "%.2f",  "%8.3f|", "%e",
        "%g",    "%!g",  "%G",    "%s",    "%10s|", "%-10s|", "%.2s", "%!.2s", "%z",     "%q",
        "%Q",    "%w",   "%c|",   "%.3c|", "%5c|",  "%-5c|",  "%%",   "%",     "a%nb",   "%y after",
        "%d %s", "%*d|", "%.*f",  "%-*d|", "plain", "%5.1s|", "%0.0f"}) {
    for (const std::string& x : values) {
      for (const std::string y : {"3", "-4", "'b'"}) {
        const std::string statement =
            fmt::format("SELECT quote(printf('{0}', {1}, {2})) || quote(format('{0}'))", format, x, y);
        auto expected = plain.query(statement);
        ASSERT_TRUE(expected && *expected->step()) << statement;
        if (expected->text(0).size() > 1000) {
          EXPECT_THAT(answer(statement), HasSubstr("over 1000")) << statement;
          continue;
        }
        EXPECT_EQ(answer(statement), std::string(expected->text(0)) + "\n") << statement;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::query
