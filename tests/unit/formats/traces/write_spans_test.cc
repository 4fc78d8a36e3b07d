// Traces as other tools read them.
#include "formats/traces/write_spans.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "formats/traces/read_spans.h"
#include "tests/traces/span_text.h"

namespace plimsoll::formats::write_spans_test {
namespace {

using traces::NamedSpan;

constexpr int64_t kStartNs = 1'544'712'660'000'000'000;

const traces::Attribute kRoute{"http.route", "/cart"};

// A request to a front end that asks a cart, which fails.
std::vector<NamedSpan> a_trace() {
  const traces::TraceId trace{.high = 0x5b8e'fff7'9803'8103, .low = 0xd269'b633'813f'c60c};
  const auto span = [&](traces::SpanId id, traces::SpanId parent, int64_t from_us, int64_t to_us) {
    return NamedSpan{.trace = trace,
                     .id = id,
                     .parent = parent,
                     .start_ns = kStartNs + from_us * 1000,
                     .end_ns = kStartNs + to_us * 1000};
  };
  NamedSpan root = span(1, 0, 0, 900);
  root.service = "front";
  root.operation = "GET /";
  root.kind = traces::SpanKind::kServer;
  root.status = traces::SpanStatus::kOk;
  root.attributes = std::span(&kRoute, 1);
  NamedSpan call = span(2, 1, 100, 700);
  call.service = "front";
  call.operation = "Get";
  call.kind = traces::SpanKind::kClient;
  NamedSpan cart = span(3, 2, 200, 600);
  cart.service = "shop/cart";
  cart.operation = "Get";
  cart.replica = "cart-7";
  cart.machine = "n1";
  cart.version = "1.2";
  cart.kind = traces::SpanKind::kServer;
  cart.status = traces::SpanStatus::kError;
  return {root, call, cart};
}

constexpr const char* kSpans =
    R"(5b8efff798038103d269b633813fc60c 0000000000000001 - front/GET /@@# 1544712660000000000 1544712660000900000 server ok
5b8efff798038103d269b633813fc60c 0000000000000002 0000000000000001 front/Get@@# 1544712660000100000 1544712660000700000 client unset
5b8efff798038103d269b633813fc60c 0000000000000003 0000000000000002 shop/cart/Get@cart-7@n1#1.2 1544712660000200000 1544712660000600000 server error
)";

std::string read_again(const std::string& document, TraceFormat format, traces::SpanSet& spans) {
  const auto read = read_spans(as_bytes(document), spans);
  EXPECT_TRUE(read) << read.error().text();
  EXPECT_EQ(read ? read->format : TraceFormat::kTable, format);
  EXPECT_EQ(read ? read->rejected : 0, 0);
  return traces::to_text(spans);
}

TEST(WriteSpans, OtlpIsReadAgainAsItWas) {
  traces::SpanSet again({.keeps_attributes = true});
  EXPECT_EQ(read_again(write_trace(a_trace(), TraceExport::kOtlpJson), TraceFormat::kOtlpJson, again),
            kSpans);
  std::vector<traces::Attribute> attributes;
  again.attributes().append_to(attributes, again.spans().front().attributes);
  EXPECT_THAT(attributes, ::testing::Contains(kRoute));
}

TEST(WriteSpans, JaegerIsReadAgainAsItWas) {
  traces::SpanSet again({.keeps_attributes = true});
  EXPECT_EQ(read_again(write_trace(a_trace(), TraceExport::kJaegerJson), TraceFormat::kJaeger, again),
            kSpans);
  std::vector<traces::Attribute> attributes;
  again.attributes().append_to(attributes, again.spans().front().attributes);
  EXPECT_THAT(attributes, ::testing::Contains(kRoute));
}

TEST(WriteSpans, ChromeHasAProcessForEachReplica) {
  const auto document = nlohmann::json::parse(write_trace(a_trace(), TraceExport::kChromeJson));
  std::vector<std::string> lines;
  for (const auto& event : document["traceEvents"]) {
    lines.push_back(
        event["ph"] == "M"
            ? fmt::format("{} is {}", event["pid"].get<int>(), event["args"]["name"].get<std::string>())
            : fmt::format("{}.{} {} {} +{}", event["pid"].get<int>(), event["tid"].get<int>(),
                          event["name"].get<std::string>(), event["ts"].get<double>(),
                          event["dur"].get<double>()));
  }
  EXPECT_THAT(lines, ::testing::ElementsAre("1 is front", "1.1 GET / 0 +900", "1.1 Get 100 +600",
                                            "2 is shop/cart on cart-7", "2.1 Get 200 +400"));
}

// Viewers draw a row as a stack: what overlaps otherwise would be cut.
TEST(WriteSpans, CallsOfAProcessThatOverlapHaveRowsOfTheirOwn) {
  std::vector<NamedSpan> spans = a_trace();
  spans[2] = spans[1];
  spans[2].id = 3;
  spans[2].start_ns += 1000;
  spans[2].end_ns += 1000;
  const auto document = nlohmann::json::parse(write_trace(spans, TraceExport::kChromeJson));
  std::vector<int> rows;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "X") {
      rows.push_back(event["tid"].get<int>());
    }
  }
  EXPECT_THAT(rows, ::testing::ElementsAre(1, 1, 2));
}

// Of calls that overlap by the hundred, some within others: the first rows are stacks, each further one has one call at a time.
TEST(WriteSpans, ManyCallsThatOverlapHaveRowsWithoutContradictions) {
  constexpr int kStackedRows = 64;
  constexpr int kCalls = 20'000;
  std::mt19937_64 random(1);
  std::vector<NamedSpan> spans;
  for (int call = 0; call < kCalls; ++call) {
    NamedSpan span{.trace = {.high = 1, .low = 2}, .id = static_cast<traces::SpanId>(call + 1)};
    span.start_ns = kStartNs + int64_t{call} * 1000;
    span.end_ns = span.start_ns + static_cast<int64_t>(300 + random() % 50) * 1000;
    span.service = "front";
    span.operation = "Get";
    spans.push_back(span);
  }
  const auto document = nlohmann::json::parse(write_trace(spans, TraceExport::kChromeJson));
  std::map<int, std::vector<int64_t>> open;  // ends by row, in us
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> all;
  size_t most = 0;
  int written = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "X") {
      continue;
    }
    ++written;
    const auto begin = static_cast<int64_t>(event["ts"].get<double>());
    const int64_t end = begin + static_cast<int64_t>(event["dur"].get<double>());
    const int row = event["tid"].get<int>();
    std::vector<int64_t>& ends = open[row];
    while (!ends.empty() && ends.back() <= begin) {
      ends.pop_back();
    }
    ASSERT_TRUE(ends.empty() || (row <= kStackedRows && end <= ends.back()))
        << "row " << row << " at " << begin;
    ends.push_back(end);
    while (!all.empty() && all.top() <= begin) {
      all.pop();
    }
    all.push(end);
    most = std::max(most, all.size());
  }
  EXPECT_EQ(written, kCalls);
  EXPECT_GT(open.size(), size_t{kStackedRows} + 100) << "there are further rows";
  EXPECT_LE(open.size(), most) << "rows are used again";
  EXPECT_EQ(open.rbegin()->first, static_cast<int>(open.size())) << "none is left out";
}

TEST(WriteSpans, BytesThatAreNoTextDoNotEndIt) {
  std::vector<NamedSpan> spans = a_trace();
  spans.front().operation = "\xff";
  for (const TraceExport format :
       {TraceExport::kOtlpJson, TraceExport::kJaegerJson, TraceExport::kChromeJson}) {
    EXPECT_TRUE(nlohmann::json::accept(write_trace(spans, format)));
  }
}

}  // namespace
}  // namespace plimsoll::formats::write_spans_test
