// Files of other tools: read whole, and the same whatever format says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/file.h"
#include "formats/traces/read_spans.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
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

// "startTimeUnixNano" as "start_time_unix_nano".
std::string proto_name(std::string_view json_name) {
  std::string name;
  for (const char c : json_name) {
    if (c >= 'A' && c <= 'Z') {
      name += '_';
    }
    name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return name;
}

// IDs are bytes, and in OTLP's JSON hexadecimal; 64-bit numbers are texts there.
std::string proto_value(const std::string& name, const nlohmann::json& value) {
  if (!value.is_string()) {
    return value.dump();
  }
  const auto text = value.get<std::string>();
  if (name.ends_with("_nano") || name == "int_value") {
    return text;
  }
  if (!name.ends_with("_id")) {
    return value.dump();
  }
  std::string bytes = "\"";
  for (size_t digit = 0; digit < text.size(); digit += 2) {
    bytes += "\\x" + text.substr(digit, 2);
  }
  return bytes + "\"";
}

// A JSON document in Protobuf's text format.
std::string proto_text(const nlohmann::json& message) {
  std::string text;
  for (const auto& [json_name, member] : message.items()) {
    const std::string name = proto_name(json_name);
    for (const nlohmann::json& value : member.is_array() ? member : nlohmann::json::array({member})) {
      text += name + (value.is_object() ? " {\n" + proto_text(value) + "}\n"
                                        : ": " + proto_value(name, value) + "\n");
    }
  }
  return text;
}

// What protoc makes of the same document is read as the same spans.
TEST_F(TraceFormatsCorpus, SayTheSameInJsonAndInProtocsBytes) {
  if (std::system("command -v protoc > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no protoc";
  }
  const testing::TemporaryDirectory made;
  for (const std::string name : {"otlp.json", "otlp-error.json", "otlp-pair1.json", "otlp-pair2.json"}) {
    const auto content = read_file(folder + name, 1 << 20);
    ASSERT_TRUE(content) << content.error().text();
    std::ofstream(made / "text") << proto_text(nlohmann::json::parse(*content));
    const std::string command = "protoc --encode=otlp.TracesData -I" +
                                source_file("tests/unit/formats/traces") + " otlp_trace.proto < " +
                                (made / "text") + " > " + (made / "bytes");
    ASSERT_EQ(std::system(command.c_str()), 0) << name;
    const auto bytes = read_file(made / "bytes", 1 << 20);
    ASSERT_TRUE(bytes) << bytes.error().text();
    traces::SpanSet spans;
    const auto done = read_spans(as_bytes(*bytes), spans);
    ASSERT_TRUE(done) << name << ": " << done.error().text();
    EXPECT_EQ(done->format, TraceFormat::kOtlp) << name;
    EXPECT_EQ(done->rejected, 0) << name << ": " << done->first_rejection;
    EXPECT_EQ(traces::to_text(spans), traces::to_text(read(name, TraceFormat::kOtlpJson))) << name;
  }
}

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
