#include "traces/model/span_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::traces {
namespace {

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

}  // namespace
}  // namespace plimsoll::traces
