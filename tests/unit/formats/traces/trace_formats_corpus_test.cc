// Files of other tools: read whole, and the same whatever format says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "formats/traces/read_spans.h"
#include "tests/traces/span_text.h"

namespace plimsoll::formats {
namespace {

struct Formats : ::testing::Test {
  void SetUp() override {
    const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
    if (corpus == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
    folder = std::string(corpus) + "/traces/formats/";
  }

  traces::SpanSet read(const std::string& name, TraceFormat format) const {
    traces::SpanSet spans;
    const auto content = read_file(folder + name, 1 << 20);
    const auto done = content ? read_spans(as_bytes(*content), spans) : propagate(content);
    EXPECT_TRUE(done) << name << ": " << (done ? "" : done.error().text());
    if (done) {
      EXPECT_EQ(done->format, format) << name;
      EXPECT_EQ(done->rejected, 0) << name << ": " << done->first_rejection;
      EXPECT_GT(done->taken, 0) << name;
    }
    return spans;
  }

  std::string folder;
};

using TraceFormatsCorpus = Formats;

TEST_F(TraceFormatsCorpus, AreReadWhole) {
  for (const char* name :
       {"otlp.json", "otlp-error.json", "otlp-pair1.json", "otlp-pair2.json", "otlp-pair2-lines.jsonl"}) {
    read(name, TraceFormat::kOtlpJson);
  }
  for (const char* name : {"jaeger-flame.json", "jaeger-pair1.json", "jaeger-pair2.json"}) {
    read(name, TraceFormat::kJaeger);
  }
  for (const char* name : {"zipkin-ascend.json", "zipkin-envoy.json", "zipkin-messaging-kafka.json",
                           "zipkin-messaging.json", "zipkin-simple-db-p6.json", "zipkin-skew.json",
                           "zipkin-smartthings-oauth-authorization.json", "zipkin-yelp.json"}) {
    read(name, TraceFormat::kZipkin);
  }
}

// Jaeger's conversion of the same OTLP document, microseconds apart.
TEST_F(TraceFormatsCorpus, SayTheSameInOtlpAndJaeger) {
  for (const std::string pair : {"pair1", "pair2"}) {
    const traces::SpanSet otlp = read("otlp-" + pair + ".json", TraceFormat::kOtlpJson);
    const traces::SpanSet jaeger = read("jaeger-" + pair + ".json", TraceFormat::kJaeger);
    ASSERT_EQ(otlp.spans().size(), jaeger.spans().size()) << pair;
    for (const traces::Span& span : otlp.spans()) {
      const auto same = std::ranges::find_if(jaeger.spans(), [&span](const traces::Span& other) {
        return other.trace == span.trace && other.id == span.id;
      });
      ASSERT_NE(same, jaeger.spans().end()) << traces::span_id_text(span.id);
      EXPECT_EQ(same->parent, span.parent);
      EXPECT_EQ(same->kind, span.kind);
      EXPECT_LT(std::abs(same->start_ns - span.start_ns), 1000);
      EXPECT_EQ(jaeger.names().operations.name(same->operation),
                otlp.names().operations.name(span.operation));
    }
  }
}

// A server's span with its client's ID and a clock ahead stands below the client's, within its time.
TEST_F(TraceFormatsCorpus, ZipkinsSkewIsTakenAway) {
  const traces::SpanSet spans = read("zipkin-skew.json", TraceFormat::kZipkin);
  const traces::Assembly assembly = traces::assemble(spans);
  ASSERT_EQ(assembly.traces.size(), 1);
  EXPECT_GT(assembly.counts.shared_ids, 0);
  EXPECT_GT(assembly.counts.shifted, 0);
  EXPECT_EQ(assembly.counts.outside_parent, 0) << traces::to_text(spans, assembly);
}

}  // namespace
}  // namespace plimsoll::formats
