// How a block of spans bounds its names.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/store/span_store_fixture.h"

namespace plimsoll::testing {
namespace {

using store::SpanBlockLimits;
using ::testing::ElementsAre;

TEST_F(SpanStoreTest, ABlockHasFewKeysValuesAndSetsOfAttributes) {
  SpanBlockLimits limits;
  limits.names.texts[static_cast<size_t>(store::SpanText::kAttributeKey)] = 2;
  limits.names.texts[static_cast<size_t>(store::SpanText::kAttributeValue)] = 3;
  limits.names.attribute_sets = 5;
  open(limits);
  const auto with = [](uint64_t number, std::map<std::string, std::string> attributes) {
    PlainSpan span = span_of(number);
    span.attributes = std::move(attributes);
    return span;
  };
  EXPECT_EQ(add({with(1, {{"a", "1"}, {"b", "2"}}), with(2, {{"a", "3"}})}).with_other_names, 0);
  // A value too many, and a key too many, which goes.
  EXPECT_EQ(add({with(3, {{"a", "4"}}), with(4, {{"a", "1"}, {"c", "1"}})}).with_other_names, 2);
  EXPECT_EQ(add({with(5, {{"b", "1"}})}).with_other_names, 0);
  // A set too many. Those that are there stay what they are.
  EXPECT_EQ(
      add({with(6, {{"b", "3"}}), with(7, {{"b", "1"}, {"a", "2"}}), with(8, {{"b", "1"}})}).with_other_names,
      2);
  EXPECT_THAT(answer_of(source_), ElementsAre(with(1, {{"a", "1"}, {"b", "2"}}), with(2, {{"a", "3"}}),
                                              with(3, {{"a", "[other]"}}), with(4, {{"a", "1"}}),
                                              with(5, {{"b", "1"}}), with(6, {{"[other]", "[other]"}}),
                                              with(7, {{"[other]", "[other]"}}), with(8, {{"b", "1"}})));
}

TEST_F(SpanStoreTest, NamesBeyondTheLimitAreOther) {
  store::SpanNameLimits names;
  names.texts[static_cast<size_t>(store::SpanText::kService)] = 2;
  open({.names = names});
  const store::SpansKept kept = add(
      {span_of(1, "a"), span_of(2, "b"), span_of(3, "c"), span_of(4, "d"), span_of(5, "a"), span_of(6, "")});
  EXPECT_EQ(kept.spans, 6);
  EXPECT_EQ(kept.with_other_names, 2);
  std::vector<std::string> services;
  for (const PlainSpan& span : answer_of(source_)) {
    services.push_back(span.service);
  }
  EXPECT_THAT(services, ElementsAre("a", "b", "[other]", "[other]", "a", ""));
}

TEST_F(SpanStoreTest, MethodsAndProcessesBeyondTheLimitKeepServiceKindAndWeight) {
  store::SpanNameLimits names;
  names.methods = 1;
  names.processes = 1;
  open({.names = names});
  PlainSpan first = span_of(1);
  first.replica = "r1";
  PlainSpan second = span_of(2);
  second.operation = "PUT /";
  second.replica = "r2";
  second.machine = "m2";
  EXPECT_EQ(add({first, second}, 3).with_other_names, 1);
  first.weight = 3;
  second.weight = 3;
  second.operation = "[other]";
  second.replica = "[other]";
  second.machine = "";
  EXPECT_THAT(answer_of(source_), ElementsAre(first, second));
}

}  // namespace
}  // namespace plimsoll::testing
