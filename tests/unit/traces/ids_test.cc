#include "traces/model/ids.h"

#include <gtest/gtest.h>

namespace plimsoll::traces {
namespace {

TEST(TraceIds, AreHexadecimalOfEitherCase) {
  EXPECT_EQ(parse_trace_id("5B8EFFF798038103D269B633813FC60C"),
            (TraceId{0x5b8efff798038103, 0xd269b633813fc60c}));
  EXPECT_EQ(parse_span_id("EEE19B7EC3C1B174"), 0xeee19b7ec3c1b174);
  EXPECT_EQ(to_text(TraceId{0x5b8efff798038103, 0xd269b633813fc60c}), "5b8efff798038103d269b633813fc60c");
  EXPECT_EQ(span_id_text(0x1b), "000000000000001b");
}

TEST(TraceIds, OfFewerDigitsAreTheLowOnes) {
  EXPECT_EQ(parse_trace_id("1f"), (TraceId{0, 0x1f}));
  EXPECT_EQ(parse_trace_id("10000000000000002"), (TraceId{1, 2}));
}

TEST(TraceIds, ThatAreNoneAreRefused) {
  for (const char* text : {"", "0", "00000000000000000000000000000000", "xyz", "-1", "1 ",
                           "123456789012345678901234567890123"}) {
    EXPECT_EQ(parse_trace_id(text), std::nullopt) << text;
  }
  for (const char* text : {"", "0000000000000000", "root", "-1", "12345678901234567"}) {
    EXPECT_EQ(parse_span_id(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plimsoll::traces
