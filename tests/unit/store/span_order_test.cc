// Copies of a span in blocks whose dictionaries have other numbers for the same names.
#include "store/spans/span_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::store::span_order_test {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

// A span with these attributes, of a block that saw them first, in this order.
PlacedSpan placed(const Attributes& attributes, std::deque<SpanDictionaries>& blocks) {
  SpanDictionaries& names = blocks.emplace_back();
  bool is_other = false;
  std::vector<SpanAttribute> set;
  for (const auto& [key, value] : attributes) {
    set.push_back({names.text_id(SpanText::kAttributeKey, key, {}, is_other),
                   names.text_id(SpanText::kAttributeValue, value, {}, is_other)});
  }
  return {{.trace = {1, 1}, .id = 1, .attributes = names.attributes_id(set, {}, is_other)}, &names};
}

Attributes attributes_of(const PlacedSpan& span) {
  Attributes texts;
  for (const SpanAttribute& attribute : span.names->attributes(span.span.attributes)) {
    texts.emplace_back(span.names->text(SpanText::kAttributeKey, attribute.key),
                       span.names->text(SpanText::kAttributeValue, attribute.value));
  }
  std::ranges::sort(texts);
  return texts;
}

TEST(SpanOrder, KeepsTheCopyWithTheSameAttributesWhicheverCameFirst) {
  // The first of them stays. The number of a key is that of its place in the list.
  const std::vector<Attributes> copies{{{"zone", "1"}, {"hw", "c6"}},
                                       {{"hw", "c6"}, {"zone", "2"}},
                                       {{"zone", "0"}, {"hw", "c7"}},
                                       {{"hw", "[other]"}, {"a", "1"}},
                                       {}};
  std::array<size_t, 5> order{0, 1, 2, 3, 4};
  do {
    std::deque<SpanDictionaries> blocks;
    std::vector<PlacedSpan> spans;
    for (const size_t copy : order) {
      spans.push_back(placed(copies[copy], blocks));
    }
    keep_distinct(spans);
    ASSERT_EQ(spans.size(), 1);
    ASSERT_EQ(attributes_of(spans.front()), (Attributes{{"hw", "c6"}, {"zone", "1"}}));
  } while (std::ranges::next_permutation(order).found);
}

TEST(SpanOrder, LooksAtAttributesLast) {
  std::deque<SpanDictionaries> blocks;
  std::vector<PlacedSpan> spans{placed({{"hw", "c6"}}, blocks), placed({}, blocks),
                                placed({{"hw", "c7"}}, blocks)};
  spans[1].span.end_ns = spans[2].span.end_ns = 10;
  spans.push_back(placed({}, blocks));
  spans.back().span.id = 2;
  keep_distinct(spans);
  ASSERT_EQ(spans.size(), 2);
  EXPECT_EQ(attributes_of(spans[0]), (Attributes{{"hw", "c7"}})) << "of those that end last";
  EXPECT_EQ(spans[1].span.id, 2);
}

}  // namespace
}  // namespace plimsoll::store::span_order_test
