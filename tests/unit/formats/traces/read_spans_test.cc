// Each format as text, and the spans that it holds as text.
#include "formats/traces/read_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/gzip.h"
#include "formats/traces/attribute_list.h"
#include "tests/traces/span_text.h"
#include "tests/unit/formats/traces/otlp_message.h"

namespace plimsoll::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  std::string spans;
  SpansRead counts;
  std::string error;
};

Read read(std::string_view content, const TraceLimits& limits = {}) {
  traces::SpanSet spans;
  const auto counts = read_spans(as_bytes(content), spans, limits);
  return {"\n" + traces::to_text(spans), counts.value_or(SpansRead{}), counts ? "" : counts.error().text()};
}

std::string gzipped(std::string_view content) {
  return gzip(as_bytes(content)).value_or("");
}

constexpr const char* kOtlpJson = R"({"resourceSpans": [{
  "resource": {"attributes": [
    {"key": "service.name", "value": {"stringValue": "cart"}},
    {"key": "service.namespace", "value": {"stringValue": "shop"}},
    {"key": "k8s.pod.name", "value": {"stringValue": "cart-7"}},
    {"key": "k8s.node.name", "value": {"stringValue": "n1"}},
    {"key": "service.version", "value": {"stringValue": "1.2"}}]},
  "scopeSpans": [{"scope": {"name": "lib"}, "spans": [
    {"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174", "name": "add",
     "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": 1544712661000000000, "kind": 2, "status": {"code": 2},
     "unknown": [1, {"x": null}]},
    {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b175", "parentSpanId": "eee19b7ec3c1b174", "name": "store",
     "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": "1544712660500000000", "kind": 3}]}]}]})";

constexpr const char* kOtlpSpans = R"(
5b8efff798038103d269b633813fc60c eee19b7ec3c1b174 - shop/cart/add@cart-7@n1#1.2 1544712660000000000 1544712661000000000 server error
5b8efff798038103d269b633813fc60c eee19b7ec3c1b175 eee19b7ec3c1b174 shop/cart/store@cart-7@n1#1.2 1544712660000000000 1544712660500000000 client unset
)";

TEST(ReadSpans, OtlpJson) {
  const Read done = read(kOtlpJson);
  EXPECT_EQ(done.spans, kOtlpSpans) << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kOtlpJson);
  EXPECT_EQ(done.counts.taken, 2);
}

TEST(ReadSpans, OtlpAsProtobufHasTheSameSpans) {
  const Read done = read(otlp_request());
  EXPECT_EQ(done.spans, kOtlpSpans) << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kOtlp);
}

// Not OTLP by its specification, but what a program sends that prints the messages with Protobuf's own functions.
TEST(ReadSpans, OtlpJsonAsProtobufPrintsIt) {
  const Read done = read(R"({"resource_spans": [{
    "resource": {"attributes": [
      {"key": "service.name", "value": {"string_value": "cart"}},
      {"key": "service.namespace", "value": {"string_value": "shop"}},
      {"key": "k8s.pod.name", "value": {"string_value": "cart-7"}},
      {"key": "k8s.node.name", "value": {"string_value": "n1"}},
      {"key": "container.image.tags", "value": {"array_value": {"values": [{"string_value": "1.2"}]}}}]},
    "scope_spans": [{"spans": [
      {"trace_id": "W47/95gDgQPSabYzgT/GDA==", "span_id": "7uGbfsPBsXQ=", "parent_span_id": "AAAAAAAAAAA=",
       "name": "add", "start_time_unix_nano": "1544712660000000000", "end_time_unix_nano": "1544712661000000000",
       "kind": "SPAN_KIND_SERVER", "status": {"code": "STATUS_CODE_ERROR", "message": "failed"}},
      {"trace_id": "W47_95gDgQPSabYzgT_GDA==", "span_id": "7uGbfsPBsXU=", "parent_span_id": "7uGbfsPBsXQ=",
       "name": "store", "start_time_unix_nano": "1544712660000000000", "end_time_unix_nano": "1544712660500000000",
       "kind": "SPAN_KIND_CLIENT", "status": {}}]}]}]})");
  EXPECT_EQ(done.spans, kOtlpSpans) << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kOtlpJson);
}

TEST(ReadSpans, OtlpJsonOfTemposApi) {
  const Read done = read(R"({"batches": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "web"}}]},
    "scopeSpans": [{"scope": {}, "spans": [
      {"traceId": "AAAAAAAAAAAAAAAAAAAAAQ==", "spanId": "AAAAAAAAAAI=", "name": "get",
       "startTimeUnixNano": "5", "endTimeUnixNano": "6", "kind": "SPAN_KIND_SERVER"}]}]}]})");
  EXPECT_EQ(done.spans, "\n00000000000000000000000000000001 0000000000000002 - web/get@@# 5 6 server unset\n")
      << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kOtlpJson);
}

TEST(ReadSpans, OtlpJsonWithUnreadableIdsAndUnknownEnums) {
  const Read done = read(R"({"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": [
    {"traceId": "01", "spanId": "02", "name": "a", "startTimeUnixNano": 5, "endTimeUnixNano": 6,
     "kind": "SPAN_KIND_FUTURE", "status": {"code": 17}},
    {"traceId": "01", "spanId": "7uGb*sPBsXQ=", "startTimeUnixNano": 5, "endTimeUnixNano": 6},
    {"traceId": "01", "spanId": "=", "startTimeUnixNano": 5, "endTimeUnixNano": 6},
    {"traceId": "W47/95gDgQPSabYzgT/GDGDA==", "spanId": "03", "startTimeUnixNano": 5, "endTimeUnixNano": 6},
    {"traceId": "01", "spanId": "03", "parentSpanId": "7uGb*sPBsXQ=", "startTimeUnixNano": 5,
     "endTimeUnixNano": 6}]}]}]})");
  EXPECT_EQ(done.spans,
            "\n00000000000000000000000000000001 0000000000000002 - unknown_service/a@@# 5 6 - unset\n")
      << done.error;
  EXPECT_EQ(done.counts.rejected, 4);
}

// Fields that a later version of the protocol may have.
TEST(ReadSpans, PassesOverFieldsOfTheRequest) {
  const Read done = read(otlp_request() + part(7, "later") + number(9, 1));
  EXPECT_EQ(done.spans, kOtlpSpans) << done.error;
  EXPECT_EQ(read("\n{\"a\": 1}").error.find("OTLP message"), std::string::npos) << "text is no message";
}

TEST(ReadSpans, ARequestALine) {
  std::string line = kOtlpJson;
  std::erase(line, '\n');
  const Read done = read(line + "\n" + line + "\n\n");
  EXPECT_EQ(done.counts.taken, 4) << done.error;
  EXPECT_THAT(read(line + "\n{\"resourceSpans\": [\n").error, HasSubstr("line 2: not a JSON document"));
}

TEST(ReadSpans, WithoutNamesOrWithAnIdOfAProcess) {
  EXPECT_EQ(read(R"({"resourceSpans": [{"resource": {"attributes": [
    {"key": "host.name", "value": {"stringValue": "h"}}, {"key": "process.pid", "value": {"intValue": "42"}}]},
    "scopeSpans": [{"spans": [{"traceId": "1", "spanId": "2", "startTimeUnixNano": 5, "endTimeUnixNano": 6}]}]}]})")
                .spans,
            "\n00000000000000000000000000000001 0000000000000002 - unknown_service/@h:42@h# 5 6 - unset\n");
}

TEST(ReadSpans, Zipkin) {
  const Read done = read(R"([
    {"traceId": "4d1e00c0db9010db86154a4ba6e91385", "id": "4d1e00c0db9010db", "kind": "CLIENT", "name": "get", "timestamp": 1472470996199000,
     "duration": 207000, "localEndpoint": {"serviceName": "frontend", "ipv4": "127.0.0.1"}, "tags": {"http.path": "/api", "otel.status_code": "OK"}},
    {"traceId": "4d1e00c0db9010db86154a4ba6e91385", "id": "4d1e00c0db9010db", "kind": "SERVER", "name": "get", "timestamp": 1472470996238000,
     "duration": 11, "shared": true, "localEndpoint": {"serviceName": "backend"}, "tags": {"error": "", "instance": "b-1"}},
    {"traceId": "86154a4ba6e91385", "parentId": "86154a4ba6e91384", "id": "4d1e00c0db9010da", "timestamp": 1,
     "tags": {"otel.status_code": "ERROR"}}])");
  EXPECT_EQ(done.spans, R"(
4d1e00c0db9010db86154a4ba6e91385 4d1e00c0db9010db - frontend/get@127.0.0.1@# 1472470996199000000 1472470996406000000 client ok
4d1e00c0db9010db86154a4ba6e91385 4d1e00c0db9010db - backend/get@b-1@# 1472470996238000000 1472470996238011000 server error shared
000000000000000086154a4ba6e91385 4d1e00c0db9010da 86154a4ba6e91384 unknown_service/@@# 1000 1000 - error
)") << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kZipkin);
}

// As of spans that are sent in parts. With neither time nor annotations there is nothing to go by.
TEST(ReadSpans, ZipkinsSpansWithoutTimes) {
  const Read done = read(R"([
    {"traceId": "1", "id": "2", "name": "a", "kind": "CLIENT", "remoteEndpoint": {"serviceName": "db"},
     "annotations": [{"timestamp": 9, "value": "wr"}, {"timestamp": 5, "value": "ws"}, {"value": "no time"}]},
    {"traceId": "1", "id": "3", "name": "b", "timestamp": 0, "duration": 7,
     "annotations": [{"timestamp": 4, "value": "ws"}]},
    {"traceId": "1", "id": "4", "name": "c", "timestamp": 6},
    {"traceId": "1", "id": "5", "name": "d", "timestamp": 6, "duration": -1},
    {"traceId": "1", "id": "6", "name": "e", "duration": 3, "annotations": []},
    {"traceId": "1", "id": "7", "name": "f", "annotations": null}])");
  EXPECT_EQ(done.spans, R"(
00000000000000000000000000000001 0000000000000002 - unknown_service/a@@# 5000 9000 client unset
00000000000000000000000000000001 0000000000000003 - unknown_service/b@@# 4000 11000 - unset
00000000000000000000000000000001 0000000000000004 - unknown_service/c@@# 6000 6000 - unset
)") << done.error;
  EXPECT_EQ(done.counts.rejected, 3);
}

TEST(ReadSpans, ZipkinsListsOfTraces) {
  EXPECT_EQ(
      read(
          R"([[{"traceId": "1", "id": "2", "timestamp": 3}], [{"traceId": "4", "id": "5", "timestamp": 6}]])")
          .counts.taken,
      2);
}

TEST(ReadSpans, Jaeger) {
  const Read done = read(R"({"data": [{"traceID": "1f", "spans": [
    {"traceID": "1f", "spanID": "a", "operationName": "get", "references": [], "startTime": 1000, "duration": 500, "processID": "p1",
     "tags": [{"key": "span.kind", "type": "string", "value": "server"}, {"key": "error", "type": "bool", "value": true}]},
    {"traceID": "1f", "spanID": "b", "operationName": "query", "references": [
       {"refType": "FOLLOWS_FROM", "traceID": "1f", "spanID": "c"}, {"refType": "CHILD_OF", "traceID": "1f", "spanID": "a"},
       {"refType": "CHILD_OF", "traceID": "2f", "spanID": "d"}],
     "startTime": 1100, "duration": 100, "processID": "p2", "tags": [{"key": "otel.status_code", "value": "OK"}]}],
   "processes": {"p1": {"serviceName": "web", "tags": [{"key": "hostname", "value": "h1"}, {"key": "process.pid", "value": 7}]}}}]})");
  EXPECT_EQ(done.spans, R"(
0000000000000000000000000000001f 000000000000000a - web/get@h1:7@h1# 1000000 1500000 server error
0000000000000000000000000000001f 000000000000000b 000000000000000a unknown_service/query@@# 1100000 1200000 - ok
)") << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kJaeger);
}

// Else it would be put within its parent, and take the time of that away.
TEST(ReadSpans, JaegersSpansThatFollowAreNotWaitedFor) {
  const Read done = read(R"({"data": [{"traceID": "1", "processes": null, "spans": [
    {"traceID": "1", "spanID": "a", "operationName": "order", "startTime": 1, "duration": 2, "references": null},
    {"traceID": "1", "spanID": "b", "operationName": "bill", "startTime": 5, "duration": 9,
     "references": [{"refType": "FOLLOWS_FROM", "traceID": "1", "spanID": "a"}],
     "tags": [{"key": "raw", "type": "binary", "value": "AAEC"}, {"key": "ratio", "type": "float64", "value": 0.5}]},
    {"traceID": "1", "spanID": "c", "operationName": "ship", "startTime": 5, "duration": 9,
     "references": [{"refType": "FOLLOWS_FROM", "traceID": "1", "spanID": "a"}],
     "tags": [{"key": "span.kind", "value": "server"}]}]}]})");
  EXPECT_EQ(done.spans, R"(
00000000000000000000000000000001 000000000000000a - unknown_service/order@@# 1000 3000 - unset
00000000000000000000000000000001 000000000000000b 000000000000000a unknown_service/bill@@# 5000 14000 consumer unset
00000000000000000000000000000001 000000000000000c 000000000000000a unknown_service/ship@@# 5000 14000 server unset
)") << done.error;
}

TEST(ReadSpans, TablesAsPublished) {
  const Read done = read(
      "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\n"
      "0087f677c0a2cf3f80a551987167911b,ee744a66e6efcb2e,root,cartservice-579f59597d-wc2lz,\"Get, "
      "item\",1661140374351773094,1661140374362982609,"
      "11209\n");
  EXPECT_EQ(done.spans, R"(
0087f677c0a2cf3f80a551987167911b ee744a66e6efcb2e - cartservice/Get, item@cartservice-579f59597d-wc2lz@# 1661140374351773094 1661140374362982609 - unset
)") << done.error;
  EXPECT_EQ(done.counts.format, TraceFormat::kTable);
}

TEST(ReadSpans, TablesWithOtherColumns) {
  EXPECT_EQ(
      read("duration_us,start_ns,method,service,machine,replica,trace_id,span_id,parent_id,kind,version,"
           "colour\n"
           "2,5000,get,web,m1,w1,1,2,,Client,v3,red\n")
          .spans,
      "\n00000000000000000000000000000001 0000000000000002 - web/get@w1@m1#v3 5000 7000 client unset\n");
}

TEST(ReadSpans, CountsSpansThatCannotBe) {
  const Read done = read(
      "trace_id,span_id,operation,start_ns,end_ns\n"
      "1,2,ok,5,6\n"
      ",2,x,5,6\n"
      "1,zz,x,5,6\n"
      "1,3,x,yesterday,6\n"
      "1,4,x,5,99999999999999999999\n");
  EXPECT_EQ(done.counts.taken, 1);
  EXPECT_EQ(done.counts.rejected, 4);
  EXPECT_EQ(done.counts.first_rejection, "a span has no trace ID");
}

TEST(ReadSpans, SaysWhichTimeOfASpanIsNone) {
  const auto first_rejection = [](const std::string& times) {
    return read(R"({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", "spanId": "2")" + times +
                "}]}]}]}")
        .counts.first_rejection;
  };
  EXPECT_EQ(first_rejection(""), "span 0000000000000002 has no start time that can be read");
  EXPECT_EQ(first_rejection(R"(, "startTimeUnixNano": "5")"),
            "span 0000000000000002 has no end time that can be read");
  EXPECT_EQ(first_rejection(R"(, "startTimeUnixNano": 5, "endTimeUnixNano": 9000000000000000000)"),
            "span 0000000000000002 has the end time 9000000000000000000 ns, which is after the year 2116");
}

// As roots they would be requests of their own.
TEST(ReadSpans, RejectsSpansWithUnreadableParents) {
  const Read table = read(
      "trace_id,span_id,parent_id,operation,start_ns,end_ns\n"
      "1,2,,x,5,6\n1,3,root,x,5,6\n1,4,0000000000000000,x,5,6\n1,5,2,x,5,6\n1,6,span-2,x,5,6\n1,7,"
      "12345678901234567,x,5,6\n");
  EXPECT_EQ(table.counts.taken, 4);
  EXPECT_EQ(table.counts.rejected, 2);
  EXPECT_EQ(table.counts.first_rejection, "span 0000000000000006 has an unreadable parent ID");
  const auto rejected = [](std::string text, std::string_view parent) {
    text.replace(text.find('?'), 1, parent);
    const Read done = read(text);
    EXPECT_EQ(done.counts.taken + done.counts.rejected, 1) << text << done.error;
    return done.counts.rejected;
  };
  for (
      const char* format :
      {R"({"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": "1", "spanId": "2", "parentSpanId": ?, "startTimeUnixNano": 5, "endTimeUnixNano": 6}]}]}]})",
       R"([{"traceId": "1", "id": "2", "parentId": ?, "timestamp": 3}])",
       R"({"data": [{"spans": [{"traceID": "1", "spanID": "2", "parentSpanID": ?, "startTime": 3, "duration": 1}]}]})",
       R"({"data": [{"spans": [{"traceID": "1", "spanID": "2", "startTime": 3, "duration": 1, "references":
            [{"refType": "CHILD_OF", "traceID": "1", "spanID": ?}]}]}]})"}) {
    EXPECT_EQ(rejected(format, "\"3\""), 0) << format;
    EXPECT_EQ(rejected(format, "null"), 0) << format;
    EXPECT_EQ(rejected(format, "\"\""), 0) << format;
    EXPECT_EQ(rejected(format, "\"abcx\""), 1) << format;
    EXPECT_EQ(rejected(format, "3"), 1) << format;
  }
  const std::string span =
      part(1, std::string(16, 'a')) + part(2, "12345678") + part(4, "xy") + fixed64(7, 5) + fixed64(8, 6);
  EXPECT_EQ(read(part(1, part(2, part(2, span)))).counts.rejected, 1);
}

// As spreadsheets write them.
TEST(ReadSpans, TakesByteOrderMarksAndQuotedNames) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string table =
      "\"TraceID\",\"SpanID\",\"method\",\"start_ns\",\"end_ns\"\r\n\"1\",\"2\",\"x\",5,6\r\n";
  EXPECT_EQ(read(table).counts.taken, 1);
  EXPECT_EQ(read(mark + table).counts.taken, 1);
  EXPECT_EQ(read(mark + "trace_id,span_id,method,start_ns,end_ns\n1,2,x,5,6\n").counts.taken, 1);
  EXPECT_EQ(read(mark + kOtlpJson).counts.taken, 2);
}

TEST(ReadSpans, Compressed) {
  EXPECT_EQ(read(gzipped(kOtlpJson)).spans, kOtlpSpans);
  EXPECT_EQ(read(gzipped(otlp_request())).spans, kOtlpSpans);
}

TEST(ReadSpans, OfNothingAreNone) {
  EXPECT_EQ(read("").error, "");
  EXPECT_EQ(read("[]").counts.taken, 0);
  EXPECT_EQ(read(R"({"resourceSpans": []})").error, "");
  EXPECT_EQ(read(R"({"resourceSpans": null})").error, "");
}

TEST(ReadSpans, SaysWhatIsWrong) {
  EXPECT_THAT(read("hello, world\n").error,
              AllOf(HasSubstr("not request traces in a known format"), HasSubstr("known are OTLP")));
  EXPECT_THAT(read("{\"a\": 1}").error, HasSubstr("the JSON document has no spans"));
  EXPECT_THAT(read("{\"resourceSpans\": 7}").error, HasSubstr("field: resourceSpans"));
  EXPECT_THAT(read("{\"data\": {}}").error, HasSubstr("field: data"));
  EXPECT_THAT(read("[1, 2").error, HasSubstr("not a JSON document"));
  EXPECT_THAT(read("trace_id,span_id,operation,end_ns\n1,2,x,3\n").error,
              HasSubstr("no column StartTimeUnixNano"));
  EXPECT_THAT(read("trace_id,span_id,operation,start_ns\n1,2,x,3\n").error,
              HasSubstr("no column EndTimeUnixNano"));
  EXPECT_THAT(read("trace_id,span_id\n1\n").error, HasSubstr("no column OperationName"));
}

TEST(ReadSpans, AreBounded) {
  EXPECT_THAT(read(kOtlpJson, {.max_json_bytes = 100}).error, HasSubstr("at most 100 are read"));
  EXPECT_THAT(read(kOtlpJson, {.max_decoded_bytes = 100}).error, HasSubstr("at most 100 are read"));
  EXPECT_FALSE(read(gzipped(kOtlpJson), {.max_decoded_bytes = 100}).error.empty());
}

// Deeper than any stack: read without recursion, and taken apart again.
TEST(ReadSpans, TakesDeepDocuments) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(read(deep).counts.taken, 0);
  EXPECT_EQ(read("{\"resourceSpans\": [{\"resource\": " + deep + "}]}").counts.taken, 0);
}

// A message's first byte is a line end, and its second one may be a brace.
TEST(ReadSpans, DistinguishesProtobufFromJson) {
  std::string resource_spans = "\x1a\x79" + std::string(121, 'x');  // schema_url
  const Read done = read("\n{" + resource_spans);
  ASSERT_EQ(resource_spans.size(), static_cast<size_t>('{'));
  EXPECT_EQ(done.error, "");
  EXPECT_EQ(done.counts.format, TraceFormat::kOtlp);
}

TEST(ReadSpans, OtlpNamesTheDamagedPart) {
  // A span whose name is longer than the span.
  const std::string span = std::string("\x2a\x7f", 2) + "x";
  const std::string scope_spans = std::string("\x12") + static_cast<char>(span.size()) + span;
  const std::string resource_spans =
      std::string("\x12") + static_cast<char>(scope_spans.size()) + scope_spans;
  const Read done = read(std::string("\x0a") + static_cast<char>(resource_spans.size()) + resource_spans);
  EXPECT_THAT(done.error, AllOf(HasSubstr("the OTLP message is malformed"),
                                HasSubstr("resource_spans[0].scope_spans[0].spans[0]")));
}

// "OPERATION KEY=VALUE ..." a span.
std::string attributes_in(std::string_view content) {
  traces::SpanSet spans({.keeps_attributes = true});
  const auto done = read_spans(as_bytes(content), spans);
  std::string text = done ? "" : done.error().text();
  for (const traces::Span& span : spans.spans()) {
    std::vector<std::string> words;
    for (const auto& entry : spans.attributes().entries(span.attributes)) {
      words.push_back(std::string(spans.attributes().key(entry.key)) + "=" +
                      std::string(spans.attributes().value(entry.key, entry.value)));
    }
    std::ranges::sort(words);
    text += std::string(spans.names().operations.name(span.operation));
    for (const std::string& word : words) {
      text += " " + word;
    }
    text += "\n";
  }
  return text;
}

TEST(ReadSpans, KeepsAttributesOfSpansAndResourcesWhereWanted) {
  EXPECT_EQ(attributes_in(otlp_request()),
            "add k8s.node.name=n1 k8s.pod.name=cart-7 key=true service.name=cart service.namespace=shop "
            "service.version=1.2\n"
            "store k8s.node.name=n1 k8s.pod.name=cart-7 service.name=cart service.namespace=shop "
            "service.version=1.2\n");
  // Those of the span count before those of its resource, and end with it.
  EXPECT_EQ(attributes_in(R"({"resourceSpans": [{
    "resource": {"attributes": [{"key": "disk", "value": {"stringValue": "hdd"}}]},
    "scopeSpans": [{"spans": [
      {"traceId": "01", "spanId": "01", "name": "a", "startTimeUnixNano": 1, "endTimeUnixNano": 2, "attributes": [
        {"key": "disk", "value": {"stringValue": "ssd"}}, {"key": "n", "value": {"intValue": "3"}},
        {"key": "ok", "value": {"boolValue": false}}]},
      {"traceId": "01", "spanId": "02", "name": "b", "startTimeUnixNano": 1, "endTimeUnixNano": 2}]}]}]})"),
            "a disk=ssd n=3 ok=false\nb disk=hdd\n");
  EXPECT_EQ(attributes_in(R"({"data": [{"spans": [
      {"traceID": "1", "spanID": "1", "operationName": "a", "startTime": 1, "duration": 1, "processID": "p",
       "tags": [{"key": "size", "value": 4}]},
      {"traceID": "1", "spanID": "2", "operationName": "b", "startTime": 1, "duration": 1, "processID": "p"}],
    "processes": {"p": {"serviceName": "s", "tags": [{"key": "hw", "value": "c7"}]}}}]})"),
            "a hw=c7 size=4\nb hw=c7\n");
  EXPECT_EQ(attributes_in(R"([{"traceId": "1", "id": "1", "name": "a", "timestamp": 1, "tags": {"hw": "c7"}},
                              {"traceId": "1", "id": "2", "name": "b", "timestamp": 1}])"),
            "a hw=c7\nb\n");
  EXPECT_EQ(attributes_in("trace_id,span_id,method,start_ns,end_ns,hw,zone\n1,1,a,1,2,c7,x\n1,2,b,1,2,,y\n"),
            "a hw=c7 zone=x\nb zone=y\n");
}

// As number and as text, which is what Protobuf's JSON writes; and as Protobuf itself has them.
TEST(ReadSpans, KeepsNumbersBelowZero) {
  EXPECT_EQ(attributes_in(R"({"resourceSpans": [{"scopeSpans": [{"spans": [
      {"traceId": "1", "spanId": "1", "name": "a", "startTimeUnixNano": 1, "endTimeUnixNano": 2, "attributes": [
        {"key": "number", "value": {"intValue": -3}}, {"key": "text", "value": {"intValue": "-4"}},
        {"key": "least", "value": {"intValue": "-9223372036854775808"}},
        {"key": "less", "value": {"intValue": "-9223372036854775809"}},
        {"key": "sign", "value": {"intValue": "-"}}, {"key": "word", "value": {"intValue": "-5x"}}]}]}]}]})"),
            "a least=-9223372036854775808 number=-3 text=-4\n");
  const std::string span =
      part(1, std::string(16, 'a')) + part(2, "12345678") + part(5, "a") + fixed64(7, 1) + fixed64(8, 2) +
      part(9, part(1, "number") + part(2, number(3, static_cast<uint64_t>(int64_t{-3}))));
  EXPECT_EQ(attributes_in(part(1, part(2, part(2, span)))), "a number=-3\n");
}

// A resource with one wanted key a million times would cost a million for each of its spans.
TEST(AttributeList, HasAWantedKeyOnceOfAResourceAndOnceOfASpan) {
  const traces::SpanSet spans({.keeps_attributes = true, .attributes = {.only = {"hw", "zone"}}});
  AttributeList list(spans);
  const auto texts = [&list] {
    std::vector<std::string> all;
    for (const traces::Attribute& attribute : list.all()) {
      all.push_back(std::string(attribute.key) + "=" + std::string(attribute.value));
    }
    return all;
  };
  for (int i = 0; i < 1000; ++i) {
    list.take("hw", "c" + std::to_string(i));
    list.take("tenant", "a");
  }
  list.take("zone", "a\x1b" + std::string(1000, 'b'));
  list.end_resource();
  const std::string zone = "zone=a?" + std::string(traces::kMaxNameBytes - 2, 'b');
  EXPECT_THAT(texts(), ElementsAre("hw=c999", zone)) << "as shown, once for all spans";
  for (int span = 0; span < 2; ++span) {
    list.begin_span();
    EXPECT_THAT(texts(), ElementsAre("hw=c999", zone));
    list.take("hw", "d1");
    list.take("hw", "d2");
    EXPECT_THAT(texts(), ElementsAre("hw=c999", zone, "hw=d2")) << "those of the resource stay";
  }
}

TEST(ReadSpans, LeavesAttributesOutWhereNotWanted) {
  traces::SpanSet spans;
  ASSERT_TRUE(read_spans(as_bytes(otlp_request()), spans));
  EXPECT_EQ(spans.spans().front().attributes, 0);
  EXPECT_EQ(spans.attributes().keys(), 1);
}

}  // namespace
}  // namespace plimsoll::formats
