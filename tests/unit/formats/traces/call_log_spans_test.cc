// CloudDiag's log of calls.
#include "formats/traces/call_log_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "formats/traces/read_spans.h"
#include "tests/traces/span_text.h"

namespace plimsoll::formats::call_log_spans_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNames = "host,time_ns,request_id,caller_mid,callee_mid,method,event\n";

struct Read {
  traces::SpanSet spans;
  Result<SpansRead> counts;
};

Read read(const std::string& rows) {
  Read made;
  made.counts = read_spans(as_bytes(kNames + rows), made.spans);
  return made;
}

TEST(CallLog, ACallIsTheTimeFromInvokedToReturned) {
  const Read made = read(R"(h1,100,a,,1,front.get,invoked
h2,200,a,1,1.1,store.read,invoked
h2,300,a,1,1.1,store.read,returned
h1,400,a,,1,front.get,returned
)");
  ASSERT_TRUE(made.counts) << made.counts.error().text();
  EXPECT_EQ(made.counts->taken, 2);
  EXPECT_EQ(made.counts->rejected, 0);
  // Each span once it is complete: the callee first.
  const auto& spans = made.spans.spans();
  EXPECT_EQ(spans[0].parent, spans[1].id);
  EXPECT_EQ(spans[1].parent, 0);
  EXPECT_EQ(spans[0].trace, spans[1].trace);
  EXPECT_EQ(spans[0].start_ns, 200);
  EXPECT_EQ(spans[0].end_ns, 300);
  const traces::Names& names = made.spans.names();
  EXPECT_EQ(names.services.name(spans[0].service), "store");
  EXPECT_EQ(names.operations.name(spans[0].operation), "store.read");
  EXPECT_EQ(names.machines.name(spans[0].machine), "h2");
}

TEST(CallLog, LinesOfACallMayBeInEitherOrderAndWrittenTwice) {
  const Read made = read(R"(h1,400,a,,1,get,returned
h1,400,a,,1,get,returned
h1,100,a,,1,get,invoked
)");
  ASSERT_TRUE(made.counts) << made.counts.error().text();
  EXPECT_EQ(made.counts->taken, 1);
  EXPECT_EQ(made.spans.spans().front().start_ns, 100);
  EXPECT_EQ(made.spans.spans().front().end_ns, 400);
}

TEST(CallLog, RequestsHaveCallsOfTheSameNames) {
  const Read made = read(R"(h1,100,a,,1,get,invoked
h1,110,b,,1,get,invoked
h1,150,a,,1,get,returned
h1,190,b,,1,get,returned
)");
  ASSERT_TRUE(made.counts) << made.counts.error().text();
  EXPECT_EQ(made.counts->taken, 2);
  EXPECT_NE(made.spans.spans()[0].trace, made.spans.spans()[1].trace);
}

TEST(CallLog, CallsThatDidNotReturnAndLinesWithoutATimeAreCounted) {
  const Read made = read(R"(h1,100,a,,1,get,invoked
h1,soon,b,,1,get,invoked
h1,100,b,,1,get,entered
)");
  ASSERT_TRUE(made.counts) << made.counts.error().text();
  EXPECT_EQ(made.counts->taken, 0);
  EXPECT_EQ(made.counts->rejected, 3);
}

TEST(CallLog, SaysWhichColumnIsMissing) {
  traces::SpanSet spans;
  const auto refused = read_spans(as_bytes(std::string("request_id,callee_mid\na,1\n")), spans);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no column host"));
}

}  // namespace
}  // namespace plimsoll::formats::call_log_spans_test
