#include "traces/model/sampling.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::traces {
namespace {

// IDs that an application counts up are spread as random ones are.
TEST(TraceSampling, KeepsAboutOneOfSoMany) {
  constexpr uint64_t kTraces = 100'000;
  for (const uint32_t one_in : {1U, 2U, 10U, 200U}) {
    SCOPED_TRACE(one_in);
    uint64_t kept = 0;
    for (uint64_t i = 1; i <= kTraces; ++i) {
      kept += is_sampled({0, i}, one_in) ? 1 : 0;
    }
    const double expected = static_cast<double>(kTraces) / one_in;
    EXPECT_NEAR(static_cast<double>(kept), expected, one_in == 1 ? 0 : 0.2 * expected);
  }
}

TEST(TraceSampling, ATraceThatIsKeptIsKeptWithMoreOthers) {
  for (uint64_t i = 1; i <= 10'000; ++i) {
    if (is_sampled({i * 7919, i}, 50)) {
      ASSERT_TRUE(is_sampled({i * 7919, i}, 49));
      ASSERT_TRUE(is_sampled({i * 7919, i}, 2));
    }
  }
}

TEST(TraceSampling, KeepsWholeTracesWithTheirNames) {
  SpanSet spans({.keeps_attributes = true});
  const std::vector<Attribute> attributes{{"host.type", "c7"}};
  for (uint64_t trace = 1; trace <= 100; ++trace) {
    for (SpanId id = 1; id <= 3; ++id) {
      ASSERT_TRUE(spans.add({.trace = {0, trace},
                             .id = id,
                             .parent = id - 1,
                             .start_ns = 5,
                             .end_ns = 9,
                             .service = trace % 2 == 0 ? "even" : "odd",
                             .operation = "call",
                             .attributes = attributes}));
    }
  }
  const auto kept = sampled(spans, 4);
  ASSERT_TRUE(kept) << kept.error().text();
  ASSERT_GT(kept->spans().size(), 0);
  ASSERT_LT(kept->spans().size(), spans.spans().size());
  size_t expected = 0;
  for (const Span& span : spans.spans()) {
    expected += is_sampled(span.trace, 4) ? 1 : 0;
  }
  EXPECT_EQ(kept->spans().size(), expected);
  EXPECT_EQ(expected % 3, 0);
  for (const Span& span : kept->spans()) {
    EXPECT_TRUE(is_sampled(span.trace, 4));
    EXPECT_EQ(kept->names().services.name(span.service), span.trace.low % 2 == 0 ? "even" : "odd");
    EXPECT_EQ(span.parent, span.id - 1);
    const auto entries = kept->attributes().entries(span.attributes);
    ASSERT_EQ(entries.size(), 1);
    EXPECT_EQ(kept->attributes().value(entries[0].key, entries[0].value), "c7");
  }
}

}  // namespace
}  // namespace plimsoll::traces
