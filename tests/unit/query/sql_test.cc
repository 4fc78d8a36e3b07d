// Statements to the tables, and their answers against a plain table of SQLite with the same rows.
#include "query/sql/sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/sql_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(SqlTest, ARowIsAStackOfAThreadInAProfile) {
  fleet_.add({.seed = 1,
              .machine = "m7",
              .from_ns = 1'700'000'000'250'000'000,
              .events = {{.name = "cycles", .scale = 1000}},
              .process = "db",
              .job = "storage",
              .stacks = "thread=io main;outer>inner@in.h:3 5\nthread=io \"\" 2\n"});
  load();
  EXPECT_EQ(
      answer(
          "SELECT event, unit, machine, job, app, thread, function, file, line, stack, hits, value, samples "
          "FROM samples ORDER BY hits DESC"),
      "cycles|count|m7|storage|db|io|inner|in.h|in.h:3|main;outer;inner|5|5000|5\n"
      "cycles|count|m7|storage|db|io|[no stack]|[no stack]|[no stack]|[no stack]|2|2000|2\n");
  EXPECT_EQ(answer("SELECT DISTINCT from_time, to_time, from_ns, to_ns FROM samples"),
            "2023-11-14T22:13:20Z|2023-11-14T22:13:21Z|1700000000250000000|1700000001250000000\n");
}

TEST_F(SqlTest, SumsAreThoseOfTopInEveryDimension) {
  add_profiles();
  for (const Dimension& dimension : dimensions()) {
    for (const std::string event : {"cycles", "wait"}) {
      std::string of_top;
      const auto table = fleet_.top({{"event", event}, {"by", std::string(dimension.name)}});
      ASSERT_TRUE(table);
      for (const auto& row : table->rows) {
        const double self = std::get<double>(row[1]);
        of_top += self == 0 ? "" : fmt::format("{}|{}\n", text_of(row[0]), text_of(self));
      }
      EXPECT_EQ(
          answer(fmt::format("SELECT {0}, sum(value) AS self FROM samples WHERE event = '{1}' GROUP BY {0} "
                             "ORDER BY self DESC, sum(value) DESC, {0}",
                             dimension.name, event)),
          of_top)
          << dimension.name;
    }
  }
}

TEST_F(SqlTest, OnlyRowsThatPassAreRead) {
  add_profiles();
  const auto reads_just_those = [&](const std::string& condition) {
    const std::string count = answer("SELECT count(*) FROM samples WHERE " + condition);
    EXPECT_EQ(fmt::format("{}\n", rows_read_), count) << condition;
    return rows_read_;
  };
  const uint64_t all = reads_just_those("1");
  for (const std::string condition :
       {"machine = 'm1'", "event = 'wait'", "job IN ('db', 'none')", "thread = 'io' AND app = 'gzip'",
        "function = 'lex'", "file LIKE '%.H'", "stack GLOB 'main;[A-Z]*'", "unit != 'count'",
        "from_time >= '2023-11-14T22:18'", "from_ns < 1700000200000000000", "stack = '[no stack]'",
        "app BETWEEN 'a' AND 'h'"}) {
    const uint64_t read = reads_just_those(condition);
    EXPECT_GT(read, 0) << condition;
    EXPECT_LT(read, all) << condition;
  }
  for (const std::string condition :
       {"machine = 'none'", "job = NULL", "job IN (NULL)", "thread LIKE NULL"}) {
    EXPECT_EQ(reads_just_those(condition), 0) << condition;
  }
}

TEST_F(SqlTest, ARowOnBothSidesOfAnOrCountsOnce) {
  add_profiles();
  const auto count = [&](const std::string& condition) {
    return answer("SELECT count(*) FROM samples WHERE " + condition);
  };
  EXPECT_EQ(count("thread = 'io' OR thread = 'w'"), count("1"));
  EXPECT_EQ(count("thread = 'io' OR app LIKE 'gzip'"), count("NOT (thread != 'io' AND app NOT LIKE 'gzip')"));
  EXPECT_EQ(count("1 GROUP BY rowid"),
            count("1 GROUP BY event, machine, job, app, thread, from_ns, stack, line"));
}

TEST_F(SqlTest, AnUnknownColumnIsNamedWithItsPlaceAndTheNearest) {
  add_profiles();
  EXPECT_THAT(answer("SELECT app,\n  functoin FROM samples"),
              AllOf(HasSubstr("no such column: functoin"), HasSubstr("line 2, character 3"),
                    HasSubstr("did you mean function?")));
  EXPECT_THAT(answer("SELECT s.jobb FROM samples s"), HasSubstr("did you mean job?"));
  EXPECT_THAT(answer("SELECT zzzzzzz FROM samples"), HasSubstr("SELECT * FROM columns"));
  EXPECT_THAT(answer("SELECT losst FROM totals"), HasSubstr("did you mean lost?"));
  EXPECT_THAT(answer("SELECT 1 FROM sample"), HasSubstr("did you mean samples?"));
  EXPECT_THAT(answer("SELECT 1 FROM zzzzzzz"),
              HasSubstr("the tables are samples, totals, events, machines, columns"));
  EXPECT_THAT(answer("SELEC 1"), HasSubstr("line 1, character 1"));
}

TEST_F(SqlTest, NothingButOneSelectIsAnswered) {
  add_profiles();
  for (const std::string statement :
       {"", " ; -- nothing", "DELETE FROM samples", "INSERT INTO samples (hits) VALUES (1)",
        "CREATE TABLE t (a)", "ATTACH 'other.db' AS other", "PRAGMA journal_mode", "SELECT 1; SELECT 2",
        "SELECT ?", "DROP TABLE samples", "REINDEX", "SELECT load_extension('x')", "VACUUM INTO 'copy.db'",
        "BEGIN"}) {
    const auto refused = ask(statement);
    ASSERT_FALSE(refused) << statement;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << statement << ": " << refused.error().text();
  }
}

TEST_F(SqlTest, TheFormsHoldTheSameCells) {
  fleet_.add({.machine = "m,1", .stacks = "main 12\n"});
  load();
  const auto answered = ask("SELECT machine, sum(hits) AS hits, 0.5 AS half, NULL AS none FROM samples");
  ASSERT_TRUE(answered);
  EXPECT_EQ(to_text(*answered), "machine  hits  half  none\nm,1        12   0.5     -\n");
  EXPECT_EQ(to_csv(*answered), "machine,hits,half,none\r\n\"m,1\",12,0.5,\r\n");
  const auto again = sql_answer_from_json(to_json(*answered));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rows, answered->rows);
  EXPECT_EQ(again->columns, answered->columns);
  EXPECT_EQ(again->notes, answered->notes);
  EXPECT_THAT(answered->notes.back(), HasSubstr("profiles of 1 of 1 machine, 2023-11-14T22:13:20Z"));
}

TEST_F(SqlTest, AnswersAreThoseOfAPlainTableWithTheSameRows) {
  add_profiles();
  const auto rows = ask(std::string(PlainTable::kRows));
  ASSERT_TRUE(rows);
  PlainTable plain(fleet_.path() + "/plain.db", *rows);
  RandomStatements statements(5);
  size_t with_rows = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string statement = statements.next();
    const auto answered = ask(statement);
    ASSERT_TRUE(answered) << statement << ": " << answered.error().text();
    const std::string all_text = fmt::format("SELECT * FROM ({})", statement);
    ASSERT_EQ(answer(all_text), plain.answer(all_text, answered->columns.size())) << statement;
    with_rows += answered->rows.empty() ? 0 : 1;
  }
  EXPECT_GT(with_rows, 150) << "statements must find something";
}

}  // namespace
}  // namespace plimsoll::query
