// 500 generated questions, put to our segments, to SQLite and to DuckDB: all must give the same answers.
//
// Our store is asked by AggregateRequest, the others by SQL that says the same. An answer is text with a line for each sum:
// groups of event, origin, workload, thread and stack, machine group, sum. Factors are whole numbers, so that sums are exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "sqlite/database.h"
#include "store/aggregation/local_rows.h"
#include "tests/conformance/plain_row.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

constexpr size_t kQuestions = 500;
constexpr size_t kRows = 30'000;
constexpr size_t kSegments = 3;
constexpr uint32_t kEvents = 5;
constexpr uint32_t kOrigins = 60;
// By column. IDs of all but labels and stacks are from 1.
constexpr ByColumn<uint32_t> kLastIds{{kEvents, kOrigins, 20, 8, 6, 400}};
constexpr ByColumn<const char*> kNames{{"event", "origin", "workload", "thread", "labels", "stack"}};

struct Question {
  AggregateRequest request;
  std::string sql;
};

// By what a hit counts; 0 for some.
uint32_t factor(uint32_t event, uint32_t origin) {
  return (event * 7 + origin * 3) % 11;
}

Factors factors() {
  std::vector<std::vector<double>> factors(kEvents + 1, std::vector<double>(kOrigins + 1));
  for (uint32_t event = 1; event <= kEvents; ++event) {
    for (uint32_t origin = 1; origin <= kOrigins; ++origin) {
      factors[event][origin] = factor(event, origin);
    }
  }
  return factors_of(std::move(factors));
}

class Generator {
 public:
  Row row() {
    Row row;
    for (const Column column : kColumns) {
      const bool may_be_none = column == Column::kLabels || column == Column::kStack;
      row[column] = may_be_none ? below(kLastIds[column] + 1) : 1 + below(kLastIds[column]);
    }
    row.hits = 1 + below(1000);
    return row;
  }

  // Each filter and each grouping is drawn both as part of the request and as SQL.
  Question question() {
    conditions_ = "true";
    columns_.clear();
    AggregateRequest request;
    for (const Column column : kColumns) {
      request.filter[column] = filter(kNames[column], kLastIds[column]);
    }
    for (const Column column : kColumns) {
      if (below(column == Column::kStack ? 4 : 10) == 0) {
        request.group[column] = IdGrouping::each();
        add_column(kNames[column]);
      } else {
        request.group[column] = IdGrouping::by(groups(kNames[column], kLastIds[column]));
      }
    }
    request.machine_group = IdTable<uint32_t>(groups("origin", kLastIds[Column::kOrigin]));
    request.measures = {factors()};
    return {std::move(request),
            fmt::format(
                "select c1, c2, c3, c4, c5, c6, c7, sum(value) from (select {} hits * factor as value from "
                "rows where {}) as chosen group by c1, c2, c3, c4, c5, c6, c7 having sum(value) <> 0 "
                "order by c1, c2, c3, c4, c5, c6, c7",
                columns_, conditions_)};
  }

 private:
  uint32_t below(uint32_t count) { return std::uniform_int_distribution<uint32_t>(0, count - 1)(random_); }

  // Of every third dimension some IDs; flags may end before the last ID.
  IdSet filter(const std::string& dimension, uint32_t last_id) {
    if (below(3) != 0) {
      return {};
    }
    std::vector<bool> flags(1 + below(last_id + 1));
    std::vector<uint32_t> ids;
    std::string chosen = "-1";
    for (uint32_t id = 0; id < flags.size(); ++id) {
      flags[id] = below(3) != 0;
      if (flags[id]) {
        chosen += fmt::format(", {}", id);
        ids.push_back(id);
      }
    }
    conditions_ += fmt::format(" and {} in ({})", dimension, chosen);
    return below(2) == 0 ? IdSet::of_flags(flags) : IdSet::of(ids);
  }

  // Half of the dimensions in up to all of their IDs' groups; the array may end before the last ID.
  std::vector<uint32_t> groups(const std::string& dimension, uint32_t last_id) {
    if (below(2) == 0) {
      add_column("0");
      return {};
    }
    const uint32_t count = 1 + below(last_id + 1);
    std::vector<uint32_t> group_of(1 + below(last_id + 1));
    for (uint32_t id = 0; id < group_of.size(); ++id) {
      group_of[id] = id % count;
    }
    add_column(
        fmt::format("case when {0} < {1} then {0} % {2} else 0 end", dimension, group_of.size(), count));
    return group_of;
  }

  void add_column(const std::string& expression) {
    columns_ += fmt::format("{} as c{}, ", expression, 1 + std::ranges::count(columns_, ','));
  }

  std::mt19937 random_{1};
  std::string conditions_, columns_;
};

class GeneratedQueries : public ::testing::Test {
 protected:
  void SetUp() override {
    Generator generator;
    for (size_t i = 0; i < kRows; ++i) {
      rows_.push_back(generator.row());
    }
    for (size_t i = 0; i < kQuestions; ++i) {
      questions_.push_back(generator.question());
    }
    std::vector<std::string> paths;
    for (size_t i = 0; i < kSegments; ++i) {
      paths.push_back(folder_ / fmt::format("{}.rows", i));
      const auto first = rows_.begin() + static_cast<ptrdiff_t>(kRows * i / kSegments);
      const auto last = rows_.begin() + static_cast<ptrdiff_t>(kRows * (i + 1) / kSegments);
      write_bytes(paths.back(), encode_segment({first, last}));
    }
    auto segments = LocalRows::open(paths);
    ASSERT_TRUE(segments) << segments.error().text();
    segments_ = std::move(*segments);
  }

  std::string our_answer(const Question& question) const {
    const auto cells = segments_->aggregate(question.request);
    if (!cells) {
      return cells.error().text();
    }
    std::string text;
    for (size_t cell = 0; cell < cells->size(); ++cell) {
      const CellKey& key = cells->keys[cell];
      for (size_t group = 0; group < cells->machine_groups; ++group) {
        if (const double sum = cells->by_machine_group(cell)[group]; sum != 0) {
          text += fmt::format("{},{},{:.0f}\n", fmt::join(key.of, ","), group, sum);
        }
      }
    }
    return text;
  }

  testing::TemporaryDirectory folder_;
  std::vector<Row> rows_;
  std::vector<Question> questions_;
  std::optional<LocalRows> segments_;
};

class SqliteRows {
 public:
  explicit SqliteRows(const std::vector<Row>& rows)
      : database_(*sqlite::Database::open(":memory:", sqlite::OpenMode::kReadWrite)) {
    EXPECT_TRUE(
        database_.run("CREATE TABLE rows (event, origin, workload, thread, labels, stack, hits, factor)"));
    for (const Row& row : rows) {
      EXPECT_TRUE(database_.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row[Column::kEvent],
                                    row[Column::kOrigin], row[Column::kWorkload], row[Column::kThread],
                                    row[Column::kLabels], row[Column::kStack], row.hits,
                                    factor(row[Column::kEvent], row[Column::kOrigin])));
    }
  }

  std::string answer(const Question& question) {
    std::string text;
    const Status answered =
        sqlite::for_each_row(database_.query(question.sql), [&](const sqlite::Statement& row) {
          for (int column = 0; column < 8; ++column) {
            text += fmt::format("{}{}", row.integer(column), column < 7 ? ',' : '\n');
          }
        });
    return answered ? text : answered.error().text();
  }

 private:
  sqlite::Database database_;
};

TEST_F(GeneratedQueries, HaveTheSameAnswersFromSqlite) {
  SqliteRows sqlite(rows_);
  size_t lines = 0;
  for (const Question& question : questions_) {
    const std::string answer = sqlite.answer(question);
    ASSERT_EQ(our_answer(question), answer) << question.sql;
    lines += static_cast<size_t>(std::ranges::count(answer, '\n'));
  }
  EXPECT_GT(lines, kQuestions) << "the questions ask for next to nothing";
}

TEST_F(GeneratedQueries, HaveTheSameAnswersFromDuckDb) {
  const std::string packages = built_file("../bench-packages");
  if (!std::filesystem::exists(packages + "/node_modules/@duckdb/node-api")) {
    GTEST_SKIP() << "DuckDB is not in " << packages << ": scripts/install.sh --bench fetches it";
  }
  std::string table = "event,origin,workload,thread,labels,stack,hits,factor\n";
  for (const Row& row : rows_) {
    table += fmt::format("{},{},{}\n", fmt::join(row.ids.of, ","), row.hits,
                         factor(row[Column::kEvent], row[Column::kOrigin]));
  }
  std::string queries;
  for (const Question& question : questions_) {
    queries += question.sql + "\n";
  }
  write_bytes(folder_ / "rows.csv", table);
  write_bytes(folder_ / "queries.sql", queries);
  const std::string command =
      fmt::format("node '{}/tests/unit/store/duckdb_answers.mjs' '{}' '{}' '{}' '{}'", source_file(),
                  packages, folder_ / "rows.csv", folder_ / "queries.sql", folder_ / "answers.csv");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto answers = read_file(folder_ / "answers.csv", uint64_t{1} << 30U);
  ASSERT_TRUE(answers) << answers.error().text();
  // Each ends with an empty line.
  std::string_view rest = *answers;
  for (const Question& question : questions_) {
    const std::string ours = our_answer(question) + "\n";
    ASSERT_EQ(rest.substr(0, ours.size()), ours) << question.sql;
    rest.remove_prefix(ours.size());
  }
  EXPECT_EQ(rest, "");
}

}  // namespace
}  // namespace plimsoll::store
