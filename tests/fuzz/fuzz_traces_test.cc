// Damaged traces of every format: refused with a reason, or spans that make sound trees.
#include <gtest/gtest.h>

#include <vector>

#include "formats/traces/read_spans.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/unit/formats/traces/otlp_message.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::fuzz {
namespace {

constexpr int kMutations = 10'000;

void expect_sound(const traces::SpanSet& spans) {
  const traces::Assembly assembly = traces::assemble(spans);
  EXPECT_EQ(assembly.nodes.size() + assembly.counts.duplicates + assembly.counts.conflicting,
            spans.spans().size());
  for (const traces::Trace& trace : assembly.traces) {
    const auto nodes = assembly.nodes_of(trace);
    ASSERT_FALSE(nodes.empty());
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_TRUE(nodes[i].parent == traces::kNoNode || nodes[i].parent < i);
      EXPECT_GE(nodes[i].self_ns, 0);
      EXPECT_LE(nodes[i].self_ns, nodes[i].duration_ns());
      EXPECT_EQ(spans.spans()[nodes[i].span].trace, trace.id);
    }
  }
}

void expect_known_attributes(const traces::SpanSet& spans) {
  const traces::AttributeTable& table = spans.attributes();
  std::vector<traces::Attribute> attributes;
  for (const traces::Span& span : spans.spans()) {
    attributes.clear();
    table.append_to(attributes, span.attributes);
    EXPECT_LE(attributes.size(), table.keys());
    for (const traces::Attribute& attribute : attributes) {
      EXPECT_FALSE(attribute.key.empty());
      EXPECT_FALSE(attribute.value.empty());
    }
  }
}

// True where it has spans.
bool reads_cleanly(std::string_view content) {
  traces::SpanSet spans({.max_spans = 10'000,
                         .max_names = 1000,
                         .keeps_attributes = true,
                         .attributes = {.max_keys = 4, .max_values = 3, .max_sets = 6}});
  const auto read = formats::read_spans(as_bytes(content), spans,
                                        {.max_decoded_bytes = 1 << 20, .max_json_bytes = 1 << 20});
  if (!read) {
    EXPECT_FALSE(read.error().message.empty());
  } else {
    EXPECT_EQ(read->taken, spans.spans().size());
  }
  expect_sound(spans);
  expect_known_attributes(spans);
  return read && read->taken > 0;
}

void damage(std::string_view content, uint64_t of_test) {
  ASSERT_TRUE(reads_cleanly(content));
  std::mt19937_64 random(seed(of_test));
  int read = 0;
  for (int i = 0; i < kMutations; ++i) {
    read += reads_cleanly(mutated(content, random)) ? 1 : 0;
  }
  // Both ways were taken.
  EXPECT_GT(read, kMutations / 100);
  EXPECT_LT(read, kMutations);
}

TEST(FuzzTraces, LogOfCalls) {
  damage(R"(host,time_ns,request_id,caller_mid,callee_mid,method,event
h1,100,a,,1,front.get,invoked
h2,200,a,1,1.1,store.read,invoked
h2,300,a,1,1.1,store.read,returned
h1,400,a,,1,front.get,returned
)",
         46);
}

TEST(FuzzTraces, Otlp) {
  damage(formats::otlp_request(), 40);
}

TEST(FuzzTraces, OtlpJson) {
  damage(
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}},)"
      R"({"key":"process.pid","value":{"intValue":"7"}}]},"scopeSpans":[{"spans":[)"
      R"({"traceId":"01","spanId":"02","name":"x","kind":2,"startTimeUnixNano":"5","endTimeUnixNano":9,"status":{"code":1}},)"
      R"({"traceId":"01","spanId":"03","parentSpanId":"02","name":"y","startTimeUnixNano":6,"endTimeUnixNano":7}]}]}]})",
      41);
}

TEST(FuzzTraces, Zipkin) {
  damage(
      R"([{"traceId":"1","id":"2","kind":"CLIENT","name":"a","timestamp":10,"duration":7,"localEndpoint":{"serviceName":"s","ipv4":"1.1.1.1"}},)"
      R"({"traceId":"1","id":"2","kind":"SERVER","shared":true,"timestamp":12,"duration":3,"tags":{"error":"x"}},)"
      R"([{"traceId":"1","parentId":"2","id":"4","timestamp":13.5,"duration":1}]])",
      42);
}

TEST(FuzzTraces, Jaeger) {
  damage(
      R"({"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"a","startTime":5,"duration":6,"processID":"p",)"
      R"("tags":[{"key":"span.kind","value":"server"},{"key":"error","value":true}]},{"traceID":"1","spanID":"3","references":)"
      R"([{"refType":"CHILD_OF","traceID":"1","spanID":"2"}],"startTime":5,"duration":2}],)"
      R"("processes":{"p":{"serviceName":"s","tags":[{"key":"hostname","value":"h"}]}}}]})",
      43);
}

TEST(FuzzTraces, Tables) {
  damage(
      "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano\n"
      "1,2,root,a-b-c,\"x, y\",100,200\n"
      "1,3,2,a-b-c,y,110,150\n"
      "1,4,3,d-e-f,y,115,140\n",
      44);
}

// Whole trees with links that contradict each other: cycles, two parents, halves of calls, impossible times.
TEST(FuzzTraces, LinksThatContradict) {
  std::mt19937_64 random(seed(45));
  for (int i = 0; i < kMutations; ++i) {
    traces::SpanSet spans;
    // In one round of four with times at either end of what a span may have.
    const int64_t scale_ns = random() % 4 == 0 ? INT64_MAX / 2 / 120 : 1;
    for (uint64_t count = 1 + random() % 20; count > 0; --count) {
      const auto start_ns = scale_ns * static_cast<int64_t>(random() % 100);
      const std::string name(1, static_cast<char>('a' + random() % 3));
      ASSERT_TRUE(spans.add({.trace = {0, 1 + random() % 2},
                             .id = 1 + random() % 8,
                             .parent = random() % 9,
                             .start_ns = start_ns,
                             .end_ns = scale_ns * static_cast<int64_t>(random() % 120),
                             .service = name,
                             .operation = name,
                             .replica = name,
                             .machine = random() % 2 == 0 ? "" : name + std::to_string(random() % 3),
                             .kind = static_cast<traces::SpanKind>(random() % 6),
                             .is_shared = random() % 5 == 0}));
    }
    expect_sound(spans);
  }
}

}  // namespace
}  // namespace plimsoll::fuzz
