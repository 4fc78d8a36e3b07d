// Profiles to ask about, random statements, and a plain table of SQLite to compare their answers with.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "query/sql/sql.h"
#include "sqlite/database.h"
#include "tests/profile_fixture.h"

namespace plimsoll::query {

using plimsoll::testing::ProfileSpec;

// A cell as text, NULL and '' alike.
inline std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *whole);
  }
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? "" : fmt::format("{:.9g}", *real);
}

// The rows of an answer, cells between bars.
inline std::string lines_of(const SqlAnswer& answer) {
  std::string text;
  for (const auto& row : answer.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : "|") + text_of(row[i]);
    }
    text += "\n";
  }
  return text;
}

// Nine profiles of three machines, with two events.
inline std::vector<ProfileSpec> sql_profiles() {
  std::mt19937_64 random(11);
  std::vector<ProfileSpec> profiles;
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
      spec.stacks += fmt::format("process={} thread={} event={} {} {}\n", random() % 2 == 0 ? "gzip" : "GZIP",
                                 random() % 2 == 0 ? "io" : "w", random() % 3 == 0 ? "wait" : "cycles",
                                 stacks[random() % stacks.size()], 1 + random() % 9);
    }
    profiles.push_back(std::move(spec));
  }
  return profiles;
}

// SELECTs made at random, which both tables answer.
class RandomStatements {
 public:
  explicit RandomStatements(uint64_t seed) : random_(seed) {}

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

  std::mt19937_64 random_;
};

// The rows of samples in a table of SQLite's own.
class PlainTable {
 public:
  // What `rows` has to be the answer to.
  static constexpr std::string_view kRows =
      "SELECT event, unit, machine, job, app, thread, function, file, line, stack, from_time, from_ns, hits, "
      "value FROM samples";

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

}  // namespace plimsoll::query
