// Statements of people who are not trusted: answered as a plain table of SQLite answers them, or refused with a reason; nothing is
// written, and whatever they are, they end.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/odd_statements.h"
#include "tests/fuzz/seed.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/sql_model.h"

namespace plimsoll::query {
namespace {

using fuzz::OddStatements;
using fuzz::seed;

constexpr int kCompared = 2'000;
constexpr int kOrders = 500;
constexpr int kStatements = 10'000;

class FuzzSql : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const ProfileSpec& spec : sql_profiles()) {
      fleet_.add(spec);
    }
    snapshot_ = *Snapshot::load(fleet_.path());
    std::filesystem::current_path(empty_.path());
  }
  void TearDown() override { std::filesystem::current_path("/"); }

  // As the API and `plimsoll sql` do, with all forms of the answer.
  Result<SqlAnswer> ask(const std::string& statement) {
    auto request = parse_sql({{"q", statement}}, 1);
    if (!request) {
      return propagate(request);
    }
    request->limits = {.time = std::chrono::milliseconds(200),
                       .rows = 2000,
                       .answer_bytes = size_t{4} << 20,
                       .memory_bytes = size_t{32} << 20,
                       .is_abandoned = {}};
    auto answer =
        sql(*request, *snapshot_, [this] { return LiveFleet::load(*store::open_fleet(fleet_.path())); });
    if (answer) {
      forms_bytes_ += to_text(*answer).size() + to_csv(*answer).size();
      EXPECT_TRUE(sql_answer_from_json(to_json(*answer))) << statement;
    }
    return answer;
  }

  // Everything below a folder but what readers of SQLite's files leave for each other.
  static std::map<std::string, std::string> files_in(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string path = entry.path();
      if (entry.is_regular_file() && !path.ends_with("-shm")) {
        files[path] = *read_file(path, uint64_t{1} << 30);
      }
    }
    return files;
  }

  Fleet fleet_;
  testing::TemporaryDirectory empty_;
  std::shared_ptr<const Snapshot> snapshot_;
  size_t forms_bytes_ = 0;
};

TEST_F(FuzzSql, ValidStatementsAnswerAsAPlainTable) {
  const auto rows = ask(std::string(PlainTable::kRows));
  ASSERT_TRUE(rows);
  const testing::TemporaryDirectory folder;
  PlainTable plain(folder / "plain.db", *rows);
  RandomStatements statements(seed(1));
  for (int i = 0; i < kCompared; ++i) {
    const std::string statement = statements.next();
    SCOPED_TRACE(statement);
    const auto answer = ask(statement);
    if (!answer && answer.error().code == ErrorCode::kTooLarge) {
      continue;  // on a busy machine
    }
    ASSERT_TRUE(answer) << answer.error().text();
    ASSERT_EQ(lines_of(*answer), plain.answer(statement, answer->columns.size()));
  }
}

TEST_F(FuzzSql, OrdersAreRefused) {
  const auto before = files_in(fleet_.path());
  std::mt19937_64 random(seed(2));
  OddStatements statements(random);
  for (int i = 0; i < kOrders; ++i) {
    const std::string order = statements.order();
    for (const std::string prefix : {"", "WITH c AS (SELECT 1) "}) {
      const auto refused = ask(prefix + order);
      ASSERT_FALSE(refused) << prefix << order;
      ASSERT_EQ(refused.error().code, ErrorCode::kInvalid) << refused.error().text();
    }
    (void)ask("EXPLAIN " + order);  // says how it would be done, at most
  }
  EXPECT_EQ(files_in(fleet_.path()), before);
  EXPECT_TRUE(std::filesystem::is_empty(empty_.path()));
}

// Half of them as they were made; the others with damage in their bytes, or with parts of each other.
TEST_F(FuzzSql, WhateverIsAskedIsAnsweredOrRefused) {
  const auto before = files_in(fleet_.path());
  std::mt19937_64 random(seed(3));
  OddStatements statements(random);
  std::string last;
  int answered = 0;
  for (int i = 0; i < kStatements; ++i) {
    std::string statement = random() % 20 == 0 ? statements.order() : statements.question();
    switch (random() % 6) {
      case 0:
      case 1:
        statement = fuzz::mutated(statement, random);
        break;
      case 2:
        statement = statement.substr(0, random() % (statement.size() + 1)) +
                    last.substr(random() % (last.size() + 1));
        break;
      default:
        break;
    }
    SCOPED_TRACE(fmt::format("statement {}: {}", i, statement));
    const auto answer = ask(statement);
    if (!answer) {
      const ErrorCode code = answer.error().code;
      ASSERT_TRUE(code == ErrorCode::kInvalid || code == ErrorCode::kTooLarge) << answer.error().text();
      ASSERT_FALSE(answer.error().message.empty());
    }
    answered += answer ? 1 : 0;
    last = statement;
  }
  EXPECT_GT(answered, kStatements / 20);
  EXPECT_GT(forms_bytes_, 0);
  EXPECT_EQ(files_in(fleet_.path()), before);
  EXPECT_TRUE(std::filesystem::is_empty(empty_.path()));
}

}  // namespace
}  // namespace plimsoll::query
