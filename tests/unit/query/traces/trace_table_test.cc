#include "query/traces/trace_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "query/table/values.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::query::trace_table_test {
namespace {

using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using ::testing::ElementsAre;

constexpr int64_t kBegin = int64_t{1'700'000'000} * 1'000'000'000;

std::vector<std::string> texts_of(const Table& table, const char* column) {
  std::vector<std::string> texts;
  for (const auto& row : table.rows) {
    texts.push_back(text_in(row[column_of(table, column)]));
  }
  return texts;
}

std::vector<double> numbers_of(const Table& table, const char* column) {
  std::vector<double> numbers;
  for (const auto& row : table.rows) {
    numbers.push_back(number_in(row[column_of(table, column)]).value_or(-1));
  }
  return numbers;
}

TEST(TraceTable, HasTheSpansInTheOrderOfTheTree) {
  TracedRequests requests{
      .spans = std::make_unique<traces::SpanSet>(span_set_of(
          {PlainSpan{
               .id = 3, .start_ns = kBegin + 40, .end_ns = kBegin + 60, .operation = "late", .parent = 1},
           PlainSpan{.id = 1, .start_ns = kBegin, .end_ns = kBegin + 100},
           PlainSpan{.id = 2,
                     .start_ns = kBegin + 10,
                     .end_ns = kBegin + 30,
                     .operation = "early",
                     .parent = 1,
                     .status = traces::SpanStatus::kError}})),
      .assembly = {},
      .notes = {}};
  assemble_requests(requests);
  const Table table = trace_table(requests.assembly.traces.front(), requests);
  EXPECT_THAT(texts_of(table, "method"), ElementsAre("GET /", "early", "late"));
  EXPECT_THAT(numbers_of(table, "depth"), ElementsAre(0, 1, 1));
  EXPECT_THAT(numbers_of(table, "start"), ElementsAre(0, 10, 40));
  EXPECT_THAT(numbers_of(table, "duration"), ElementsAre(100, 20, 20));
  EXPECT_THAT(numbers_of(table, "self"), ElementsAre(60, 20, 20));
  EXPECT_THAT(texts_of(table, "parent"), ElementsAre("", "0000000000000001", "0000000000000001"));
  EXPECT_THAT(texts_of(table, "is_error"), ElementsAre("no", "yes", "no"));
  EXPECT_THAT(texts_of(table, "is_partial"), ElementsAre("no", "no", "no"));
}

TEST(TraceTable, WantsAnId) {
  for (const Parameters& wrong :
       {Parameters(), Parameters{{"id", "nonsense"}}, Parameters{{"id", "0"}}, Parameters{{"ids", "1"}}}) {
    EXPECT_FALSE(parse_trace(wrong, 0));
  }
  const auto request = parse_trace({{"id", "4BF92F3577B34DA6A3CE929D0E0E4736"}}, 0);
  ASSERT_TRUE(request);
  EXPECT_EQ(to_text(request->id), "4bf92f3577b34da6a3ce929d0e0e4736");
}

}  // namespace
}  // namespace plimsoll::query::trace_table_test
