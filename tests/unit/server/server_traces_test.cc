// Traces that are sent to a server, by way of its listener for senders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "http/client.h"
#include "server/server.h"
#include "store/directory/disk_usage.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

// As profiles are: traces would take what is left of the disk, and profiles be dropped for it.
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
