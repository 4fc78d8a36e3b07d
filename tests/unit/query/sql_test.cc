// Statements to the table of samples, against the same rows in a plain table of SQLite.
#include "query/sql/sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Counts the rows that a statement reads.
class CountingRows : public store::RowSource {
 public:
  CountingRows(const store::RowSource& rows, uint64_t& count) : rows_(rows), count_(count) {}

  Result<store::Cells> aggregate(const store::AggregateRequest& request) const override {
    return rows_.aggregate(request);
  }
  std::unique_ptr<store::RowCursor> scan(store::RowFilter filter) const override {
    return std::make_unique<Cursor>(rows_.scan(std::move(filter)), count_);
  }

 private:
  class Cursor : public store::RowCursor {
   public:
    Cursor(std::unique_ptr<store::RowCursor> rows, uint64_t& count) : rows_(std::move(rows)), count_(count) {}
    Result<std::span<const store::Row>> next() override {
      auto batch = rows_->next();
      count_ += batch ? batch->size() : 0;
      return batch;
    }

   private:
    std::unique_ptr<store::RowCursor> rows_;
    uint64_t& count_;
  };

  const store::RowSource& rows_;
  uint64_t& count_;
};

// A cell as text, NULL and '' alike.
std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *whole);
  }
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? "" : fmt::format("{:.9g}", *real);
}

class SqlTest : public ::testing::Test {
 protected:
  void load() {
    loaded_ = *Snapshot::load(fleet_.path());
    snapshot_.dictionaries = loaded_->dictionaries;
    snapshot_.bindings = loaded_->bindings;
    snapshot_.rows = std::make_unique<CountingRows>(*loaded_->rows, rows_read_);
  }

  // Nine profiles of three machines, with two events.
  void add_profiles() {
    std::mt19937_64 random(11);
    const std::vector<std::string> stacks{
        "main", "main;parse", "main;parse;lex@lex.cc:7", "main;Parse", "main;outer>inner@in.h:3", "\"\""};
    for (uint64_t seed = 1; seed <= 9; ++seed) {
      ProfileSpec spec{.seed = seed,
                       .machine = fmt::format("m{}", seed % 3),
                       .from_ns = 1'700'000'000'500'000'000 + static_cast<int64_t>(seed) * 60'000'000'000,
                       .events = {{.name = "cycles", .scale = 1000},
                                  {.name = "wait", .scale = 0.5, .unit = wire::NANOSECONDS}},
                       .job = seed % 2 == 0 ? "db" : "05",
                       .stacks = ""};
      for (size_t line = 0; line < 12; ++line) {
        spec.stacks +=
            fmt::format("process={} thread={} event={} {} {}\n", random() % 2 == 0 ? "gzip" : "GZIP",
                        random() % 2 == 0 ? "io" : "w", random() % 3 == 0 ? "wait" : "cycles",
                        stacks[random() % stacks.size()], 1 + random() % 9);
      }
      fleet_.add(spec);
    }
    load();
  }

  Result<SqlAnswer> ask(const std::string& statement, const sqlite::QuestionLimits& limits = {}) {
    rows_read_ = 0;
    return sql({.statement = statement, .limits = limits}, snapshot_);
  }

  // The rows, cells between bars; an error's text where there is one.
  std::string answer(const std::string& statement) {
    const auto answered = ask(statement);
    if (!answered) {
      return answered.error().text();
    }
    std::string text;
    for (const auto& row : answered->rows) {
      for (size_t i = 0; i < row.size(); ++i) {
        text += (i == 0 ? "" : "|") + text_of(row[i]);
      }
      text += "\n";
    }
    return text;
  }

  Fleet fleet_;
  std::shared_ptr<const Snapshot> loaded_;
  Snapshot snapshot_;
  uint64_t rows_read_ = 0;
};

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

TEST_F(SqlTest, AnUnknownColumnIsNamedWithItsPlaceAndTheNearest) {
  add_profiles();
  EXPECT_THAT(answer("SELECT app,\n  functoin FROM samples"),
              AllOf(HasSubstr("no such column: functoin"), HasSubstr("line 2, character 3"),
                    HasSubstr("did you mean function?")));
  EXPECT_THAT(answer("SELECT s.jobb FROM samples s"), HasSubstr("did you mean job?"));
  EXPECT_THAT(answer("SELECT zzzzzzz FROM samples"), HasSubstr("the columns are event, unit, machine"));
  EXPECT_THAT(answer("SELECT 1 FROM sample"), HasSubstr("the table is samples"));
  EXPECT_THAT(answer("SELEC 1"), HasSubstr("line 1, character 1"));
}

TEST_F(SqlTest, NothingButOneSelectIsAnswered) {
  add_profiles();
  for (const std::string statement :
       {"", " ; -- nothing", "DELETE FROM samples", "INSERT INTO samples (hits) VALUES (1)",
        "CREATE TABLE t (a)", "ATTACH 'other.db' AS other", "PRAGMA journal_mode", "SELECT 1; SELECT 2",
        "SELECT ?", "DROP TABLE samples", "SELECT load_extension('x')", "VACUUM INTO 'copy.db'", "BEGIN"}) {
    const auto refused = ask(statement);
    ASSERT_FALSE(refused) << statement;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << statement << ": " << refused.error().text();
  }
}

TEST_F(SqlTest, WhatCostsTooMuchIsStopped) {
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

// Statements made at random, answered by both tables.
class RandomStatements {
 public:
  std::string next() {
    const std::string group = column();
    const std::string where = condition(3);
    switch (random_() % 3) {
      case 0:
        return fmt::format(
            "SELECT {0}, sum(hits), CAST(sum(value) * 2 AS INTEGER), count(*) FROM samples WHERE {1} GROUP "
            "BY {0} "
            "ORDER BY 1",
            group, where);
      case 1:
        return fmt::format("SELECT {0}, {1}, hits, from_ns FROM samples WHERE {2} ORDER BY 1, 2, 3, 4", group,
                           column(), where);
      default:
        return fmt::format(
            "SELECT a.{0}, count(*), sum(b.hits) FROM samples a {3} JOIN samples b ON a.{0} = b.{0} "
            "AND b.{2} WHERE a.{1} GROUP BY 1 ORDER BY 1",
            group, simple_condition(), simple_condition(), random_() % 2 == 0 ? "LEFT" : "");
    }
  }

 private:
  const std::string& one_of(const std::vector<std::string>& texts) { return texts[random_() % texts.size()]; }

  std::string column() {
    return one_of({"event", "unit", "machine", "job", "app", "thread", "function", "file", "line", "stack",
                   "from_time", "from_ns"});
  }
  std::string operand() {
    return one_of({"'m1'", "'db'", "'05'", "5", "5.0", "'gzip'", "'io'", "'parse'", "'lex.cc'",
                   "'main;parse'", "''", "NULL", "x'6462'", "'2023-11-14T22:18'", "1700000200000000000",
                   "1.7000002e18", "'cycles'", "CAST('5' AS INTEGER)", "'m' || 1"});
  }
  std::string simple_condition() {
    switch (random_() % 6) {
      case 0:
        return fmt::format("{} IN ({}, {}, {})", column(), operand(), operand(), operand());
      case 1:
        return fmt::format("{} {} {}", column(), one_of({"LIKE", "NOT LIKE"}),
                           one_of({"'%GZ%'", "'m_'", "'main;%'", "NULL", "5", "'%.cc%'"}));
      case 2:
        return fmt::format("{} GLOB {}", column(), one_of({"'*z*'", "'m?'", "'[A-Z]*'", "NULL"}));
      case 3:
        return fmt::format("{} = {} COLLATE NOCASE", column(), operand());
      default:
        return fmt::format("{} {} {}", column(), one_of({"=", "!=", "<", "<=", ">", ">=", "IS", "IS NOT"}),
                           operand());
    }
  }
  std::string condition(int depth) {
    if (depth == 0 || random_() % 3 == 0) {
      return simple_condition();
    }
    return fmt::format("{}({} {} {})", one_of({"", "", "NOT "}), condition(depth - 1), one_of({"AND", "OR"}),
                       condition(depth - 1));
  }

  std::mt19937_64 random_{5};
};

class PlainTable {
 public:
  PlainTable(const std::string& path, const SqlAnswer& rows)
      : database_(*sqlite::Database::open(path, sqlite::OpenMode::kReadWrite)) {
    const auto created = database_.run(
        "CREATE TABLE samples (event TEXT, unit TEXT, machine TEXT, job TEXT, app TEXT, thread TEXT, "
        "function TEXT, "
        "file TEXT, line TEXT, stack TEXT, from_time TEXT, from_ns INTEGER, hits INTEGER, value REAL)");
    EXPECT_TRUE(created);
    for (const auto& row : rows.rows) {
      const auto text = [&](size_t column) { return std::get<std::string>(row[column]); };
      const auto inserted = database_.execute(
          "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", text(0), text(1), text(2),
          text(3), text(4), text(5), text(6), text(7), text(8), text(9), text(10), std::get<int64_t>(row[11]),
          std::get<int64_t>(row[12]), std::get<double>(row[13]));
      EXPECT_TRUE(inserted);
    }
  }

  std::string answer(const std::string& statement, size_t columns) {
    std::string text;
    const auto read = sqlite::for_each_row(database_.query(statement), [&](const sqlite::Statement& row) {
      for (size_t i = 0; i < columns; ++i) {
        text += (i == 0 ? "" : "|") + std::string(row.text(static_cast<int>(i)));
      }
      text += "\n";
    });
    EXPECT_TRUE(read) << read.error().text();
    return text;
  }

 private:
  sqlite::Database database_;
};

TEST_F(SqlTest, AnswersAreThoseOfAPlainTableWithTheSameRows) {
  add_profiles();
  const auto rows =
      ask("SELECT event, unit, machine, job, app, thread, function, file, line, stack, from_time, "
          "from_ns, hits, value FROM samples");
  ASSERT_TRUE(rows);
  PlainTable plain(fleet_.path() + "/plain.db", *rows);
  RandomStatements statements;
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
