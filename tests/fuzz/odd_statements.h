// SQL made at random from SQLite's grammar: most of it can be answered, some makes no sense, some would write.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace plimsoll::fuzz {

class OddStatements {
 public:
  explicit OddStatements(std::mt19937_64& random) : random_(random) {}

  std::string question() {
    switch (below(8)) {
      case 0:
        return fmt::format("WITH {0}c AS ({1}) SELECT {2} FROM c {3}", one_of({"", "RECURSIVE "}), select(2),
                           expression(2), tail());
      case 1:
        return fmt::format(
            "WITH RECURSIVE c(n) AS (SELECT {} UNION {} SELECT n + 1 FROM c LIMIT {}) "
            "SELECT n, {} FROM c",
            operand(), one_of({"", "ALL"}), number(), function(1));
      case 2:
        return fmt::format("{} {} {}", select(2), one_of({"UNION", "UNION ALL", "EXCEPT", "INTERSECT"}),
                           select(2));
      case 3:
        return fmt::format("EXPLAIN {} {}", one_of({"", "QUERY PLAN"}), select(2));
      default:
        return select(3);
    }
  }

  // What must never be done.
  std::string order() {
    const std::string name =
        one_of({"samples", "totals", "events", "machines", "columns", "sqlite_schema", "t"});
    switch (below(5)) {
      case 0:
        return fmt::format("DELETE FROM {} WHERE {}", name, expression(1));
      case 1:
        return fmt::format("INSERT INTO {} SELECT {}", name, expression(1));
      case 2:
        return fmt::format("UPDATE {} SET {} = {}", name, column(), expression(1));
      case 3:
        return fmt::format("CREATE {} t AS {}", one_of({"TABLE", "TEMP TABLE", "VIEW"}), select(1));
      default:
        return one_of({"ATTACH 'other.db' AS other", "VACUUM INTO 'copy.db'", "PRAGMA journal_mode = DELETE",
                       "PRAGMA temp_store_directory = '.'", "PRAGMA writable_schema = 1",
                       "DROP TABLE samples", "ALTER TABLE samples RENAME TO t", "BEGIN IMMEDIATE", "COMMIT",
                       "SAVEPOINT s", "ANALYZE", "DETACH main", "CREATE VIRTUAL TABLE t USING fts5(x)",
                       "CREATE TRIGGER t AFTER DELETE ON samples BEGIN SELECT 1; END"});
    }
  }

  const std::string& one_of(const std::vector<std::string>& texts) {
    return texts[static_cast<size_t>(random_() % texts.size())];
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<uint64_t>(end)); }

  std::string number() {
    return one_of(
        {"0", "1", "-1", "5", "100", "70000", "9223372036854775807", "-9223372036854775808", "1e308", "0.5"});
  }
  std::string operand() {
    return one_of({number(), number(), "NULL", "''", "'m1'", "'%;lex'", "'[a-'", "'ä'", "x'00ff'", "'cycles'",
                   "'2023-11-14T22:18'", "zeroblob(1000)", "CURRENT_TIMESTAMP", "1 + 1"});
  }
  // Mostly of the table that is asked.
  std::string column() {
    if (below(30) == 0) {
      return one_of({"value", "a.machine", "b.event", "rowid", "n", "*", "nothing"});
    }
    return one_of(columns_);
  }
  std::string table() {
    static const std::map<std::string, std::vector<std::string>> kColumns{
        {"samples",
         {"event", "unit", "machine", "job", "function", "line", "stack", "from_time", "to_ns", "hits",
          "value"}},
        {"totals",
         {"event", "machine", "draw", "to_time", "from_ns", "hits", "value", "samples", "lost", "ran",
          "note"}},
        {"events", {"event", "kind", "profiles", "machines", "from_time", "value"}},
        {"machines", {"machine", "state", "cores", "last_seen", "instances", "cpu_used"}},
        {"columns", {"table_name", "column_name", "data_type", "meaning"}}};
    if (below(20) == 0) {
      return one_of(
          {"sqlite_schema", "pragma_table_info('samples')", "json_each('[1, 2]')", "samples('x')", "none"});
    }
    const auto& [name, columns] = *std::next(kColumns.begin(), below(static_cast<int>(kColumns.size())));
    columns_ = columns;
    return name;
  }

  std::string function(int depth) {
    struct Function {
      std::string name;
      int arguments;
    };
    static const std::vector<Function> kFunctions{{"count", 1},
                                                  {"sum", 1},
                                                  {"max", 1},
                                                  {"max", 2},
                                                  {"group_concat", 1},
                                                  {"total", 1},
                                                  {"abs", 1},
                                                  {"hex", 1},
                                                  {"instr", 2},
                                                  {"replace", 3},
                                                  {"trim", 1},
                                                  {"trim", 2},
                                                  {"rtrim", 2},
                                                  {"printf", 2},
                                                  {"substr", 3},
                                                  {"quote", 1},
                                                  {"char", 2},
                                                  {"randomblob", 1},
                                                  {"zeroblob", 1},
                                                  {"unicode", 1},
                                                  {"like", 2},
                                                  {"glob", 2},
                                                  {"round", 2},
                                                  {"json_array", 2},
                                                  {"json", 1},
                                                  {"date", 1},
                                                  {"strftime", 2},
                                                  {"row_number", 0},
                                                  {"ntile", 1},
                                                  {"coalesce", 2},
                                                  {"iif", 3},
                                                  {"likely", 1},
                                                  {"sqlite_version", 0},
                                                  {"load_extension", 1},
                                                  {"fts3_tokenizer", 1},
                                                  {"edit", 1}};
    const Function& function = kFunctions[static_cast<size_t>(below(static_cast<int>(kFunctions.size())))];
    std::string arguments;
    for (int i = below(20) == 0 ? below(5) : function.arguments; i > 0; --i) {
      arguments += (arguments.empty() ? "" : ", ") + expression(depth - 1);
    }
    const std::string call =
        fmt::format("{}({}{})", function.name, below(10) == 0 ? "DISTINCT " : "", arguments);
    return below(6) == 0 ? fmt::format("{} OVER (PARTITION BY {} ORDER BY {})", call, column(), column())
                         : call;
  }

  std::string expression(int depth) {
    if (depth <= 0) {
      return below(2) == 0 ? column() : operand();
    }
    switch (below(9)) {
      case 0:
        return function(depth);
      case 1:
        return fmt::format("({})", select(depth - 1));
      case 2:
        return fmt::format("{} {}IN ({}, {})", column(), one_of({"", "NOT "}), operand(), operand());
      case 3:
        return fmt::format("{} IN ({})", column(), select(depth - 1));
      case 4:
        return fmt::format("CASE WHEN {} THEN {} ELSE {} END", expression(depth - 1), operand(), column());
      case 5:
        return fmt::format("CAST({} AS {})", expression(depth - 1),
                           one_of({"TEXT", "INTEGER", "BLOB", "REAL"}));
      case 6:
        return fmt::format("{} {} {}", column(), one_of({"LIKE", "GLOB", "IS", "IS NOT", "COLLATE NOCASE ="}),
                           operand());
      case 7:
        return fmt::format("{} BETWEEN {} AND {}", column(), operand(), operand());
      default:
        return fmt::format("({} {} {})", expression(depth - 1),
                           one_of({"+", "||", "AND", "OR", "=", "<", ">=", "!=", "/", "%", "<<", "->"}),
                           expression(depth - 1));
    }
  }

  std::string tail() {
    std::string tail;
    if (below(3) == 0) {
      tail += fmt::format(" GROUP BY {}", column());
      tail += below(3) == 0 ? fmt::format(" HAVING {}", expression(1)) : "";
    }
    tail += below(3) == 0 ? fmt::format(" ORDER BY {} {}", expression(1), one_of({"", "DESC", "NULLS LAST"}))
                          : "";
    tail += below(3) == 0 ? fmt::format(" LIMIT {} OFFSET {}", number(), number()) : "";
    return tail;
  }

  std::string select(int depth) {
    const std::vector<std::string> outer = columns_;
    std::string from;
    if (below(8) != 0) {
      from = fmt::format(" FROM {} {}", table(), one_of({"", "a"}));
      from += below(8) == 0 ? fmt::format(" {} JOIN {} b {}", one_of({"", "LEFT", "CROSS", "NATURAL"}),
                                          table(), one_of({"", "USING (machine)", "ON a.event = b.event"}))
                            : "";
    }
    std::string text = fmt::format("SELECT {}{}", one_of({"", "", "DISTINCT "}), expression(depth));
    for (int i = below(3); i > 0; --i) {
      text += ", " + expression(depth - 1);
    }
    text += from;
    text += below(2) == 0 ? " WHERE " + expression(depth) : "";
    text += tail();
    columns_ = outer;
    return text;
  }

  std::mt19937_64& random_;
  std::vector<std::string> columns_{"hits"};
};

}  // namespace plimsoll::fuzz
