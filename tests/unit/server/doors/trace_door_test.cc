#include "server/doors/trace_door.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "formats/gzip.h"
#include "tests/traces/span_fixture.h"
#include "traces/model/sampling.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// Keeps what it is given in memory, or fails.
class FakeSpanSink : public store::SpanSink {
 public:
  Result<store::SpansKept> add_all(std::span<const store::SpanBatch> batches) override {
    if (const auto once = std::exchange(during_add, nullptr)) {
      once();
    }
    if (is_failing) {
      return fail(ErrorCode::kIo, "the disk is on fire");
    }
    store::SpansKept kept;
    for (const store::SpanBatch& batch : batches) {
      keep(*batch.spans, batch.weight);
      kept.spans += batch.spans->spans().size();
    }
    return kept;
  }
  Status settle() override { return {}; }
  Result<uint64_t> drop_old(int64_t /*before_ns*/, uint64_t /*max_bytes*/) override { return 0; }
  Result<bool> drop_oldest() override { return false; }
  Result<store::SpanFilesMerged> merge_once(const std::stop_token& /*stop*/) override {
    return store::SpanFilesMerged();
  }

  std::vector<std::string> texts;
  std::map<std::string, std::set<std::string>> values;  // of attributes
  bool is_failing = false;
  std::function<void()> during_add;  // called once

 private:
  void keep(const traces::SpanSet& spans, double weight) {
    const traces::Names& names = spans.names();
    for (const traces::Span& span : spans.spans()) {
      std::vector<traces::Attribute> attributes;
      spans.attributes().append_to(attributes, span.attributes);
      for (const traces::Attribute& attribute : attributes) {
        values[std::string(attribute.key)].insert(std::string(attribute.value));
      }
      texts.push_back(fmt::format("{} {} {} in {} {} {}..{} x{}", traces::to_text(span.trace).substr(28),
                                  names.services.name(span.service), names.operations.name(span.operation),
                                  span.parent, traces::name_of(span.kind), span.start_ns, span.end_ns,
                                  weight));
    }
  }
};

constexpr const char* kOtlp = R"({"resourceSpans": [{"resource": {"attributes":
  [{"key": "service.name", "value": {"stringValue": "cart"}}]},
  "scopeSpans": [{"spans": [{"traceId": "0000000000000000000000000000000a", "spanId": "0000000000000001",
    "name": "GET /", "kind": 2, "startTimeUnixNano": "5", "endTimeUnixNano": "9"}]}]}]})";
constexpr const char* kSpan = "000a cart GET / in 0 server 5..9 x1";

class TraceDoorTest : public ::testing::Test {
 protected:
  // All requests come by the same door, so that they share its memory.
  void open(const server::TraceDoorOptions& options) { routes_ = server::trace_routes(sink_, options); }

  http::Response post(const std::string& path, const std::string& body, const http::Fields& headers) {
    if (routes_.empty()) {
      open(options_);
    }
    const auto route = std::ranges::find(routes_, path, &http::Route::path);
    if (route == routes_.end()) {
      return {.status = 404};
    }
    EXPECT_EQ(route->right, http::Right::kUpload);
    EXPECT_EQ(route->method, "POST");
    EXPECT_EQ(route->threads, http::Threads::kStorage) << "profiles do not wait for traces";
    http::Request request;
    request.body = body;
    request.headers = headers;
    request.caller = caller_;
    return route->handle(request);
  }
  http::Response post_json(const std::string& body) {
    return post("/v1/traces", body, {{"Content-Type", "application/json; charset=utf-8"}});
  }
  http::Response post_protobuf(const std::string& body) {
    return post("/v1/traces", body, {{"content-type", "application/x-protobuf"}});
  }

  http::Response post_gzip(const std::string& body) {
    const auto packed = formats::gzip(as_bytes(body));
    EXPECT_TRUE(packed) << packed.error().text();
    return post("/v1/traces", packed.value_or(""),
                {{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}});
  }

  FakeSpanSink sink_;
  server::TraceDoorOptions options_;  // of the door, if open() is not called
  http::Caller caller_;

 private:
  std::vector<http::Route> routes_;
};

std::string message(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  bytes += static_cast<char>(content.size());
  return bytes + content;
}

// An ExportTraceServiceRequest with one span without a resource.
std::string otlp_message(const std::string& span_id) {
  const std::string span =
      message(1, std::string(15, '\0') + "\x0a") + message(2, span_id) + message(5, "call");
  return message(1, message(2, message(2, span)));
}

TEST_F(TraceDoorTest, TakesOtlpJson) {
  const http::Response answer = post_json(kOtlp);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, "{}");
  EXPECT_THAT(sink_.texts, ElementsAre(kSpan));
}

TEST_F(TraceDoorTest, TakesOtlpProtobufAndAnswersInKind) {
  const http::Response answer = post_protobuf(otlp_message(std::string(7, '\0') + "\x01"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.content_type, "application/x-protobuf");
  EXPECT_EQ(answer.body, "");
  EXPECT_THAT(sink_.texts, ElementsAre("000a unknown_service call in 0  0..0 x1"));
  EXPECT_EQ(post_protobuf("").status, 200) << "a request without spans";
}

TEST_F(TraceDoorTest, SaysHowManySpansAreNone) {
  const http::Response json =
      post_json(R"({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}]}]}]})");
  EXPECT_EQ(json.status, 200) << json.body;
  EXPECT_THAT(json.body, HasSubstr(R"("rejectedSpans":"1")"));
  EXPECT_THAT(json.body, HasSubstr("ID"));
  const http::Response protobuf = post_protobuf(otlp_message(""));
  EXPECT_EQ(protobuf.status, 200);
  ASSERT_GT(protobuf.body.size(), 6);
  const std::string partial = protobuf.body.substr(2);
  EXPECT_EQ(protobuf.body.substr(0, 2), message(1, partial).substr(0, 2));
  EXPECT_EQ(partial.substr(0, 2), "\x08\x01");
  EXPECT_EQ(partial.substr(2), message(2, partial.substr(4)));
  EXPECT_THAT(sink_.texts, IsEmpty());
}

TEST_F(TraceDoorTest, TakesZipkin) {
  const http::Response answer =
      post("/api/v2/spans",
           R"([{"traceId": "a", "id": "2", "parentId": "1", "kind": "CLIENT", "name": "get",
                "timestamp": 7, "duration": 2, "localEndpoint": {"serviceName": "web"}}])",
           {{"Content-Type", "application/json"}});
  EXPECT_EQ(answer.status, 202) << answer.body;
  EXPECT_THAT(sink_.texts, ElementsAre("000a web get in 1 client 7000..9000 x1"));
}

TEST_F(TraceDoorTest, TakesCompressedBodies) {
  const http::Response answer = post_gzip(kOtlp);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(sink_.texts, ElementsAre(kSpan));
}

TEST_F(TraceDoorTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(post("/v1/traces", kOtlp, {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(post("/v1/traces", kOtlp, {}).status, 415);
  EXPECT_EQ(
      post("/v1/traces", kOtlp, {{"Content-Type", "application/json"}, {"Content-Encoding", "br"}}).status,
      415);
  EXPECT_EQ(post_json("{").status, 400);
  EXPECT_EQ(post_json("[]").status, 400) << "Zipkin's";
  EXPECT_EQ(post("/api/v2/spans", kOtlp, {}).status, 400);
  EXPECT_EQ(post_protobuf("\x0a\xff").status, 400) << "its type is known";
  EXPECT_THAT(sink_.texts, IsEmpty());
}

// A google.rpc.Status: message is its field 2.
TEST_F(TraceDoorTest, SaysInKindWhatIsWrong) {
  const http::Response protobuf = post_protobuf("\x0a\xff");
  EXPECT_EQ(protobuf.status, 400);
  EXPECT_EQ(protobuf.content_type, "application/x-protobuf");
  ASSERT_GT(protobuf.body.size(), 3);
  EXPECT_EQ(protobuf.body.front(), '\x12');
  EXPECT_THAT(protobuf.body, HasSubstr("not request traces in a known format"));
  const http::Response json = post_json("{");
  EXPECT_EQ(json.status, 400);
  EXPECT_EQ(json.content_type, "application/json");
  const nlohmann::json document = nlohmann::json::parse(json.body, nullptr, false);
  ASSERT_TRUE(document.is_object()) << json.body;
  EXPECT_EQ(document.value("message", ""), "not a JSON document");
  EXPECT_TRUE(document.contains("error")) << "for clients of Plimsoll";
}

TEST_F(TraceDoorTest, RefusesOtherCompressionsWhateverTheHeaderSays) {
  // 6 bytes that distinguish it, the last a zero.
  std::string xz_file = "\xFD\x37zXZ";
  xz_file.resize(20);
  const http::Response xz = post_json(xz_file);
  EXPECT_EQ(xz.status, 415) << xz.body;
  EXPECT_THAT(xz.body, HasSubstr("xz"));
  const auto packed = formats::gzip(as_bytes(kOtlp));
  ASSERT_TRUE(packed) << packed.error().text();
  const http::Response twice = post_gzip(*packed);
  EXPECT_EQ(twice.status, 400) << twice.body;
  EXPECT_THAT(sink_.texts, IsEmpty());
}

TEST_F(TraceDoorTest, TypesAndEncodingsHaveNoCase) {
  const auto packed = formats::gzip(as_bytes(kOtlp));
  ASSERT_TRUE(packed) << packed.error().text();
  const http::Response answer =
      post("/v1/traces", *packed, {{"Content-Type", "Application/JSON"}, {"Content-Encoding", "GZIP"}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(post("/v1/traces", "", {{"Content-Type", "Application/X-Protobuf"}}).status, 200);
}

TEST_F(TraceDoorTest, ARequestWithoutSpansIsOne) {
  EXPECT_EQ(post_json("{}").status, 200);
  EXPECT_EQ(post_json(R"({"resourceSpans": []})").status, 200);
}

// Spans name services and machines of others, and a machine speaks for itself alone.
TEST_F(TraceDoorTest, MachinesMayNotSendTraces) {
  caller_ = {.role = http::Role::kMachine, .name = "m1"};
  EXPECT_EQ(post_json(kOtlp).status, 403);
  EXPECT_EQ(post("/api/v2/spans", "[]", {}).status, 403);
  EXPECT_THAT(sink_.texts, IsEmpty());
  caller_ = {.role = http::Role::kUpload, .name = "collector"};
  EXPECT_EQ(post_json(kOtlp).status, 200);
}

TEST_F(TraceDoorTest, NothingIsTakenWhileThereIsNoRoom) {
  bool is_full = true;
  options_.check_room = [&is_full]() -> Status {
    return is_full ? fail(ErrorCode::kUnavailable, "the disk is nearly full") : Status();
  };
  const http::Response refused = post_json(kOtlp);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_THAT(sink_.texts, IsEmpty());
  is_full = false;
  EXPECT_EQ(post_json(kOtlp).status, 200);
}

TEST_F(TraceDoorTest, LargeRequestsAreRefused) {
  open({.max_spans = 0});
  EXPECT_EQ(post_json(kOtlp).status, 413);
  open({.max_decoded_bytes = 100});
  EXPECT_EQ(post_json(kOtlp).status, 413);
  EXPECT_EQ(post_gzip(kOtlp).status, 413);
  open({.max_json_bytes = 100});
  EXPECT_EQ(post_json(kOtlp).status, 413);
  for (const http::Route& route : server::trace_routes(sink_, {.max_body_bytes = 77})) {
    EXPECT_EQ(route.max_body_bytes, 77);
  }
  EXPECT_THAT(sink_.texts, IsEmpty());
}

// A request whose memory is counted.
std::string large_otlp() {
  std::string body = kOtlp;
  body.append(100'000, ' ');
  return body;
}

// It would take more memory than its type lets expect.
TEST_F(TraceDoorTest, LargeJsonOfAnotherTypeIsNotRead) {
  EXPECT_EQ(post_protobuf(kOtlp).status, 400);
  EXPECT_EQ(post_protobuf(large_otlp()).status, 413);
  EXPECT_THAT(sink_.texts, IsEmpty());
}

TEST_F(TraceDoorTest, ARequestThatFindsNoMemoryIsSentAwayInTheEnd) {
  options_.max_memory_bytes = 1;
  options_.max_wait = std::chrono::milliseconds(0);
  http::Response inner;
  sink_.during_add = [&] { inner = post_json(large_otlp()); };
  EXPECT_EQ(post_json(large_otlp()).status, 200);
  EXPECT_EQ(inner.status, 503) << inner.body;
  EXPECT_NE(inner.header("Retry-After"), "");
  EXPECT_EQ(post_json(large_otlp()).status, 200) << "what was held is given back";
}

TEST_F(TraceDoorTest, ARequestWaitsForTheMemoryOfAnother) {
  options_.max_memory_bytes = 1;
  options_.max_wait = std::chrono::hours(1);
  http::Response second;
  std::jthread sender;
  // It ends once the first has given back what it holds, and not before.
  sink_.during_add = [&] { sender = std::jthread([&] { second = post_json(large_otlp()); }); };
  EXPECT_EQ(post_json(large_otlp()).status, 200);
  sender.join();
  EXPECT_EQ(second.status, 200) << second.body;
}

// Its bytes count as they are, not as what they might become.
TEST_F(TraceDoorTest, SmallCompressedRequestsDoNotKeepEachOtherOut) {
  options_.max_memory_bytes = 1;
  options_.max_wait = std::chrono::milliseconds(0);
  http::Response inner;
  sink_.during_add = [&] { inner = post_gzip(kOtlp); };
  EXPECT_EQ(post_gzip(kOtlp).status, 200);
  EXPECT_EQ(inner.status, 200) << inner.body;
}

TEST_F(TraceDoorTest, AFailureOfTheStoreIsToBeTriedAgain) {
  sink_.is_failing = true;
  const http::Response answer = post_json(kOtlp);
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.header("Retry-After"), "");
  EXPECT_EQ(answer.body.find("fire"), std::string::npos) << "the log has it";
}

TEST_F(TraceDoorTest, KeepsTheAttributesThatAreConfigured) {
  ASSERT_EQ(post_json(kOtlp).status, 200);
  EXPECT_THAT(sink_.values, IsEmpty());
  options_.attributes = {"service.name", "host.type"};
  options_.sample_one_in = 1;
  open(options_);
  ASSERT_EQ(post_json(kOtlp).status, 200);
  EXPECT_THAT(sink_.values, ElementsAre(Pair("service.name", ElementsAre("cart"))));
}

// Behind more attributes of a span than are kept, and with more values than a request may have.
TEST_F(TraceDoorTest, HostileAttributesAreBounded) {
  options_.attributes = {"tenant"};
  nlohmann::json spans = nlohmann::json::array();
  for (int i = 1; i <= 1200; ++i) {
    nlohmann::json attributes = nlohmann::json::array();
    for (int other = 0; i == 1 && other < 1000; ++other) {
      attributes.push_back({{"key", fmt::format("other{}", other)}, {"value", {{"intValue", other}}}});
    }
    attributes.push_back({{"key", "tenant"}, {"value", {{"stringValue", std::to_string(i)}}}});
    spans.push_back({{"traceId", "0a"},
                     {"spanId", fmt::format("{:016x}", i)},
                     {"name", "a"},
                     {"startTimeUnixNano", 5},
                     {"endTimeUnixNano", 9},
                     {"attributes", attributes}});
  }
  const nlohmann::json body{{"resourceSpans", {{{"scopeSpans", {{{"spans", spans}}}}}}}};
  ASSERT_EQ(post_json(body.dump()).status, 200);
  EXPECT_EQ(sink_.texts.size(), 1200);
  ASSERT_THAT(sink_.values, ElementsAre(Pair("tenant", SizeIs(1001))));
  EXPECT_TRUE(sink_.values["tenant"].contains("1"));
  EXPECT_TRUE(sink_.values["tenant"].contains("[other]"));
}

TEST_F(TraceDoorTest, KeepsOneTraceOfSoManyWithItsWeight) {
  options_.attributes = {"service.name"};
  options_.sample_one_in = 2;
  size_t expected = 0;
  for (uint64_t trace = 1; trace <= 64; ++trace) {
    std::string body = kOtlp;
    const std::string id = traces::to_text({.high = 0, .low = trace});
    body.replace(body.find("0000000000000000000000000000000a"), id.size(), id);
    ASSERT_EQ(post_json(body).status, 200);
    expected += traces::is_sampled({.high = 0, .low = trace}, 2) ? 1 : 0;
  }
  EXPECT_EQ(sink_.texts.size(), expected);
  ASSERT_FALSE(sink_.texts.empty());
  EXPECT_THAT(sink_.texts.front(), HasSubstr(" x2"));
  EXPECT_THAT(sink_.values, ElementsAre(Pair("service.name", ElementsAre("cart"))));
}

}  // namespace
}  // namespace plimsoll::testing
