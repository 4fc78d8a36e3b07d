// Traces that are sent to a server, by way of its listener for senders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "http/client.h"
#include "query/traces/stored_requests.h"
#include "server/server.h"
#include "store/directory/disk_usage.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Of a span with this ID, in a trace of the same number.
std::string otlp_json(int number) {
  return fmt::format(
      R"({{"resourceSpans": [{{"resource": {{"attributes":
         [{{"key": "service.name", "value": {{"stringValue": "cart"}}}}]}},
         "scopeSpans": [{{"spans": [{{"traceId": "{0:032x}", "spanId": "{0:016x}", "name": "GET /", "kind": 2,
           "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000000000005"}}]}}]}}]}})",
      number);
}

class ServerTraces : public ::testing::Test {
 protected:
  ServerTraces() {
    config_.data_dir = folder_ / "data";
    config_.listen = config_.fleet_listen = "127.0.0.1:0";
    // Whatever is free where the test runs.
    config_.retention_min_free_bytes = 1;
  }

  std::unique_ptr<server::Server> start() const {
    auto started = server::Server::start(config_, {{"/bin/true"}});
    EXPECT_TRUE(started) << started.error().text();
    return std::move(*started);
  }

  static unsigned post(server::Server& server, const std::string& path, const std::string& body) {
    http::Client client({.base_url = server.fleet_address()});
    const auto sent = client.send("POST", path, body, "application/json");
    EXPECT_TRUE(sent) << sent.error().text();
    return sent ? sent->status : 0;
  }

  TemporaryDirectory folder_;
  config::ServerConfig config_;
};

TEST_F(ServerTraces, AreKeptOnceAndStayWhenTheServerStartsAgain) {
  const PlainSpan first{.trace = {.high = 0, .low = 1},
                        .id = 1,
                        .start_ns = 1'700'000'000'000'000'000,
                        .end_ns = 1'700'000'000'000'000'005};
  PlainSpan second = first;
  second.trace.low = second.id = 2;
  second.kind = traces::SpanKind::kUnspecified;
  second.end_ns = second.start_ns + 3000;
  second.operation = "put";
  const auto source = store::open_span_source(config_.data_dir);
  {
    const auto server = start();
    EXPECT_THAT(answer_of(*source), IsEmpty());
    EXPECT_EQ(post(*server, "/v1/traces", otlp_json(1)), 200);
    EXPECT_EQ(post(*server, "/v1/traces", otlp_json(1)), 200);
    EXPECT_EQ(
        post(*server, "/api/v2/spans",
             R"([{"traceId": "2", "id": "2", "name": "put", "timestamp": 1700000000000000, "duration": 3,
                        "localEndpoint": {"serviceName": "cart"}}])"),
        202);
    EXPECT_THAT(answer_of(*source), ElementsAre(first, second));
  }
  const auto server = start();
  EXPECT_EQ(post(*server, "/v1/traces", otlp_json(1)), 200);
  EXPECT_THAT(answer_of(*source), ElementsAre(first, second));
}

TEST_F(ServerTraces, HaveTheAttributesThatAreConfigured) {
  const std::string span =
      R"([{"traceId": "2", "id": "2", "name": "put", "timestamp": 1700000000000000, "duration": 3,
           "tags": {"host.type": "c7", "tenant": "a", "secret": "b"}}])";
  const auto attributes_with = [&](const std::vector<std::string>& kept) {
    config_.traces_attributes = kept;
    config_.data_dir = folder_ / ("data" + std::to_string(kept.size()));
    const auto server = start();
    EXPECT_EQ(post(*server, "/api/v2/spans", span), 202);
    const auto spans = answer_of(*store::open_span_source(config_.data_dir));
    return spans.empty() ? std::map<std::string, std::string>() : spans.front().attributes;
  };
  EXPECT_THAT(attributes_with({"host.type", "tenant"}),
              ElementsAre(Pair("host.type", "c7"), Pair("tenant", "a")));
  EXPECT_THAT(attributes_with({}), IsEmpty());
}

// As profiles are: traces would take what is left of the disk, and profiles be dropped for it.
// Of one trace: span N is called by span N / 2, and each service has its own sender.
std::string otlp_json_of_tree(std::span<const int> numbers) {
  constexpr int64_t kBeginNs = int64_t{1'700'000'000} * 1'000'000'000;
  constexpr int64_t kEndNs = kBeginNs + 1'000'000;
  std::string list;
  for (const int number : numbers) {
    const int64_t depth = std::bit_width(static_cast<unsigned>(number));
    list += fmt::format(
        R"({0}{{"resource": {{"attributes": [{{"key": "service.name", "value": {{"stringValue": "s{1}"}}}}]}},
          "scopeSpans": [{{"spans": [{{"traceId": "{2:032x}", "spanId": "{3:016x}", "parentSpanId": "{4:016x}", "name": "call",
            "startTimeUnixNano": "{5}", "endTimeUnixNano": "{6}"}}]}}]}})",
        list.empty() ? "" : ", ", number % 50, 7, number, number / 2, kBeginNs + depth, kEndNs - depth);
  }
  return fmt::format(R"({{"resourceSpans": [{}]}})", list);
}

TEST_F(ServerTraces, OneTraceOfFiftySendersInAnyOrderIsOneTree) {
  constexpr int kSenders = 50;
  constexpr int kRequests = 5;
  constexpr int kSpansOfRequest = 4;
  std::vector<int> numbers(kSenders * kRequests * kSpansOfRequest);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::ranges::shuffle(numbers, std::mt19937_64(3));
  const auto server = start();
  {
    std::vector<std::jthread> senders;
    for (int sender = 0; sender < kSenders; ++sender) {
      senders.emplace_back([&, sender] {
        for (int request = 0; request < kRequests; ++request) {
          const auto begin = static_cast<size_t>((sender * kRequests + request) * kSpansOfRequest);
          const auto of_request = std::span(numbers).subspan(begin, kSpansOfRequest);
          EXPECT_EQ(post(*server, "/v1/traces", otlp_json_of_tree(of_request)), 200);
        }
      });
    }
  }
  const auto read = query::read_stored_request(config_.data_dir, {.high = 0, .low = 7});
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->assembly.traces.size(), 1);
  const traces::Trace& trace = read->assembly.traces.front();
  EXPECT_FALSE(trace.is_partial);
  const auto nodes = read->assembly.nodes_of(trace);
  ASSERT_EQ(nodes.size(), numbers.size());
  for (size_t i = 1; i < nodes.size(); ++i) {
    const traces::SpanId id = read->spans->spans()[nodes[i].span].id;
    ASSERT_NE(nodes[i].parent, traces::kNoNode) << id;
    EXPECT_EQ(read->spans->spans()[nodes[nodes[i].parent].span].id, id / 2);
  }
}

TEST_F(ServerTraces, AreSentAwayWhileTheDiskIsNearlyFull) {
  const auto disk_bytes = store::disk_bytes(folder_.path());
  ASSERT_TRUE(disk_bytes) << disk_bytes.error().text();
  // More than is ever free.
  config_.retention_min_free_bytes = *disk_bytes - 1;
  const auto server = start();
  EXPECT_EQ(post(*server, "/v1/traces", otlp_json(1)), 503);
  EXPECT_THAT(answer_of(*store::open_span_source(config_.data_dir)), IsEmpty());
}

TEST_F(ServerTraces, AreSampledAsConfigured) {
  config_.traces_sample = 4;
  const auto server = start();
  for (int number = 1; number <= 40; ++number) {
    ASSERT_EQ(post(*server, "/v1/traces", otlp_json(number)), 200);
  }
  const auto spans = answer_of(*store::open_span_source(config_.data_dir));
  EXPECT_GT(spans.size(), 0);
  EXPECT_LT(spans.size(), 40);
  for (const PlainSpan& span : spans) {
    EXPECT_EQ(span.weight, 4);
  }
}

}  // namespace
}  // namespace plimsoll::testing
