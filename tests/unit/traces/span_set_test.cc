#include "traces/model/span_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll::traces {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NamedSpan named(std::string_view operation) {
  return {.trace = {0, 1}, .id = 2, .start_ns = 10, .end_ns = 20, .service = "web", .operation = operation};
}

TEST(SpanSet, HasEachNameOnce) {
  SpanSet spans;
  for (const char* operation : {"get", "put", "get"}) {
    ASSERT_TRUE(spans.add(named(operation)));
  }
  EXPECT_EQ(spans.spans()[0].operation, spans.spans()[2].operation);
  EXPECT_EQ(spans.names().operations.name(spans.spans()[1].operation), "put");
  EXPECT_EQ(spans.names().operations.size(), 3);  // with that of no name
}

TEST(SpanSet, MakesNamesPrintableAndShort) {
  SpanSet spans;
  ASSERT_TRUE(spans.add(named("a\x1b[2J")));
  EXPECT_EQ(spans.names().operations.name(spans.spans()[0].operation), "a?[2J");
  ASSERT_TRUE(spans.add(named(std::string(10'000, 'x'))));
  EXPECT_EQ(spans.names().operations.name(spans.spans()[1].operation).size(), kMaxNameBytes);
}

TEST(SpanSet, CutsNoCharacterInHalf) {
  SpanSet spans;
  std::string name(kMaxNameBytes - 1, 'x');
  ASSERT_TRUE(spans.add(named(name + "ä")));
  EXPECT_EQ(spans.names().operations.name(spans.spans()[0].operation), name);
}

TEST(SpanSet, IsBounded) {
  SpanSet spans({.max_spans = 3, .max_names = 3});
  ASSERT_TRUE(spans.add(named("a")));
  ASSERT_TRUE(spans.add(named("b")));
  const auto third_name = spans.add(named("c"));
  ASSERT_FALSE(third_name);
  EXPECT_EQ(third_name.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(third_name.error().text(), HasSubstr("over 3 different names of kind operation"));
  ASSERT_TRUE(spans.add(named("a")));
  EXPECT_EQ(spans.add(named("a")).error().code, ErrorCode::kTooLarge);
}

TEST(SpanSet, RefusesSpansThatCannotBe) {
  SpanSet spans;
  for (const auto change :
       {+[](NamedSpan& span) { span.id = 0; }, +[](NamedSpan& span) { span.trace = {}; },
        +[](NamedSpan& span) { span.start_ns = -1; }, +[](NamedSpan& span) { span.end_ns = INT64_MAX; }}) {
    NamedSpan span = named("a");
    change(span);
    EXPECT_EQ(spans.add(span).error().code, ErrorCode::kInvalid);
  }
  EXPECT_TRUE(spans.spans().empty());
}

// A set of attributes as one number, whatever their order; the last of equal keys counts.
TEST(AttributeTable, HasEachSetOnce) {
  AttributeTable table;
  const auto id = [&table](std::vector<Attribute> attributes) { return table.id_of(attributes); };
  EXPECT_EQ(id({}), 0);
  EXPECT_EQ(id({{"hw", ""}}), 0);
  const uint32_t first = id({{"hw", "c6"}, {"disk", "ssd"}});
  EXPECT_EQ(id({{"disk", "ssd"}, {"hw", "c6"}}), first);
  EXPECT_EQ(id({{"disk", "hdd"}, {"hw", "c6"}, {"disk", "ssd"}}), first);
  EXPECT_NE(id({{"hw", "c6"}}), first);
  EXPECT_EQ(table.keys(), 3);
  EXPECT_EQ(table.value(1, table.value_in(first, 1)), "c6");
  EXPECT_EQ(table.value(2, table.value_in(first, 2)), "ssd");
  EXPECT_EQ(table.value_in(0, 1), 0);
}

TEST(AttributeTable, IsBounded) {
  AttributeTable table({.max_keys = 2, .max_values = 3, .max_sets = 50});
  std::vector<uint32_t> sets;
  for (int i = 0; i < 5; ++i) {
    const std::string value = std::to_string(i);
    const std::vector<Attribute> attributes{{"request", value}, {"hw", "c6"}};
    sets.push_back(table.id_of(attributes));
  }
  EXPECT_TRUE(table.is_unbounded(1));
  EXPECT_FALSE(table.is_unbounded(2));
  EXPECT_EQ(table.value(2, table.value_in(sets.back(), 2)), "c6");
  EXPECT_FALSE(table.is_cut());
  EXPECT_NE(table.id_of(std::vector<Attribute>{{"third", "x"}, {"hw", "c7"}}), 0);
  EXPECT_TRUE(table.is_cut());
}

// Threads have IDs of their own: without them there are two sets.
TEST(AttributeTable, LeavesOutTheKeyWithMostValuesWhereSetsAreMany) {
  AttributeTable table({.max_sets = 100});
  for (int i = 0; i < 1000; ++i) {
    const std::string thread = std::to_string(i % 900);
    const std::string hw = i % 2 == 0 ? "c6" : "c7";
    const uint32_t set = table.id_of(std::vector<Attribute>{{"thread.id", thread}, {"hw", hw}});
    ASSERT_LE(set, 100);
    ASSERT_EQ(table.value(2, table.value_in(set, 2)), hw) << i;
  }
  EXPECT_TRUE(table.is_unbounded(1));
  EXPECT_FALSE(table.is_unbounded(2));
  EXPECT_TRUE(table.is_cut());
}

TEST(AttributeTable, TakesSoManyAttributesOfASpan) {
  AttributeTable table;
  std::vector<Attribute> attributes(100'000, {"key", "value"});
  attributes.push_back({"last", "value"});
  EXPECT_EQ(table.entries(table.id_of(attributes)).size(), 1);
  EXPECT_TRUE(table.is_cut());
}

TEST(AttributeTable, KeepsTheKeysThatAreWanted) {
  AttributeTable table({.only = {"hw", "zone"}});
  const uint32_t set = table.id_of(std::vector<Attribute>{{"tenant", "a"}, {"zone", "x"}, {"hw", "c7"}});
  std::vector<Attribute> attributes;
  table.append_to(attributes, set);
  ASSERT_EQ(attributes.size(), 2);
  EXPECT_EQ(attributes[0].key, "zone");
  EXPECT_EQ(attributes[0].value, "x");
  EXPECT_EQ(attributes[1].key, "hw");
  EXPECT_EQ(table.id_of(std::vector<Attribute>{{"tenant", "a"}}), 0);
  EXPECT_EQ(table.keys(), 3);
  EXPECT_FALSE(table.is_cut());
}

TEST(AttributeTable, NamesValuesBeyondTheLimit) {
  AttributeTable table({.max_values = 3, .names_others = true});
  std::vector<std::string> values;
  for (int i = 0; i < 6; ++i) {
    const std::string value = std::to_string(i % 5);
    std::vector<Attribute> attributes;
    table.append_to(attributes, table.id_of(std::vector<Attribute>{{"tenant", value}}));
    ASSERT_EQ(attributes.size(), 1) << i;
    values.emplace_back(attributes[0].value);
  }
  EXPECT_THAT(values, ElementsAre("0", "1", "2", "[other]", "[other]", "0"));
  EXPECT_FALSE(table.is_unbounded(1));
}

}  // namespace
}  // namespace plimsoll::traces
