#include "query/traces/trace_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "query/table/values.h"
#include "store/model/label_set.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::query::trace_table_test {
namespace {

using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
           PlainSpan{.id = 1,
                     .start_ns = kBegin,
                     .end_ns = kBegin + 100,
                     .version = "v2",
                     .attributes = {{"host.type", "c7"}, {"http.route", "/a=b"}}},
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
  EXPECT_THAT(texts_of(table, "attributes"), ElementsAre("host.type=c7\nhttp.route=/a=b", "", ""));
  EXPECT_THAT(texts_of(table, "is_partial"), ElementsAre("no", "no", "no"));
  EXPECT_THAT(texts_of(table, "kind"), ElementsAre("server", "server", "server"));
  EXPECT_THAT(texts_of(table, "version"), ElementsAre("v2", "", ""));
}

// A text that many spans share is once in a SpanSet, and would be in each row.
TEST(TraceTable, BoundsTheTextOfAttributes) {
  const std::string long_value(200, 'v');
  std::vector<PlainSpan> spans;
  for (uint64_t id = 1; id <= 400; ++id) {
    PlainSpan span{.id = id, .start_ns = kBegin, .end_ns = kBegin + 100, .parent = id == 1 ? 0U : 1U};
    for (const char* const key : {"a", "b", "c", "d", "e", "f"}) {
      span.attributes[key] = long_value;
    }
    spans.push_back(span);
  }
  TracedRequests requests{.spans = std::make_unique<traces::SpanSet>(span_set_of(spans)),
                          .assembly = {},
                          .notes = {"a note of the spans"}};
  assemble_requests(requests);
  const Table table = trace_table(requests.assembly.traces.front(), requests);
  const std::vector<std::string> texts = texts_of(table, "attributes");
  ASSERT_EQ(texts.size(), spans.size());
  uint64_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
    EXPECT_THAT(text, StartsWith("a=" + long_value)) << "whole attributes stay";
  }
  EXPECT_LE(bytes, kAttributeBytesOfTable + spans.size() * kAttributeBytesOfRow);
  EXPECT_EQ(texts.front().size(), 6 * (long_value.size() + 3) - 1) << "short traces have all of them";
  EXPECT_THAT(table.notes, Contains(HasSubstr("attributes left out in ")));
  EXPECT_THAT(table.notes, Contains("a note of the spans"));
}

TEST(TraceTable, HasAttributesThatCanBeSplitAgain) {
  for (const auto& [key, value, text] : {std::tuple("http.route", "/a=b", "http.route=/a=b"),
                                         {"a=b", "c", "a\\=b=c"},
                                         {"a\\", "=", "a\\\\=="},
                                         {"a\\=", "\\", "a\\\\\\==\\"},
                                         {"=", "=", "\\==="}}) {
    EXPECT_EQ(attribute_text({key, value}), text);
    EXPECT_EQ(split_attribute(text), (std::pair<std::string, std::string>(key, value)));
  }
  EXPECT_EQ(split_attribute("C:\\path=x").first, "C:\\path") << "of an older server";
  EXPECT_EQ(split_attribute("key").first, "key");
}

// As processes are named by default, by a rule, and by a label that a configuration lists.
TEST(ProfileLinks, AreByWhatProfilesCarry) {
  ProfileLinks links({"4f5a6b", "1c2d-uid", "cart-7", "cart-8", "$(reboot)"});
  links.add_instance("4f5a6b");
  links.add_instance("$(reboot)");
  links.add_instance("another");
  links.add_labels(store::encode_labels({{"POD_NAME", "cart-7"}, {"pod", "1c2d-uid"}}));
  EXPECT_EQ(links.predicate_for("4f5a6b", "host-1"), "instance=4f5a6b");
  EXPECT_EQ(links.predicate_for("1c2d-uid", "host-1"), "label:pod=1c2d-uid");
  EXPECT_EQ(links.predicate_for("cart-7", "host-1"), "label:POD_NAME=cart-7");
  EXPECT_EQ(links.predicate_for("cart-8", "host-1"), "hostname=host-1") << "no profile carries it";
  EXPECT_EQ(links.predicate_for("$(reboot)", "host-1"), "hostname=host-1") << "it goes into command lines";
  EXPECT_EQ(links.predicate_for("cart-8", ""), "");
  EXPECT_EQ(links.predicate_for("cart-8", "host 1"), "");
  // The instance is what profiles are grouped by.
  links.add_instance("cart-7");
  links.add_labels(store::encode_labels({{"POD_NAME", "cart-7"}}));
  EXPECT_EQ(links.predicate_for("cart-7", ""), "instance=cart-7");
}

TEST(TraceTable, NamesTheProfilesOfEachCall) {
  TracedRequests requests{
      .spans = std::make_unique<traces::SpanSet>(span_set_of(
          {PlainSpan{.id = 1, .start_ns = kBegin, .end_ns = kBegin + 100, .replica = "a", .machine = "m"},
           PlainSpan{.id = 2,
                     .start_ns = kBegin + 10,
                     .end_ns = kBegin + 30,
                     .parent = 1,
                     .replica = "b",
                     .machine = "m"}})),
      .assembly = {},
      .notes = {}};
  assemble_requests(requests);
  ProfileLinks links({"a", "b"});
  links.add_instance("b");
  const Table table = trace_table(requests.assembly.traces.front(), requests, links);
  EXPECT_THAT(texts_of(table, "profiles"), ElementsAre("hostname=m", "instance=b"));
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
