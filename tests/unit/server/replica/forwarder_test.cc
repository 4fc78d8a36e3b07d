// What a query server sends on, and to whom.
#include "server/replica/forwarder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/client.h"
#include "http/listener.h"
#include "query/registry/view.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server::forwarder_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ForwarderTest : public ::testing::Test {
 protected:
  ForwarderTest() {
    for (const char* method : {"GET", "POST", "PUT", "DELETE"}) {
      http::Route route;
      route.method = method;
      route.path = "/";
      route.is_prefix = true;
      route.max_body_bytes = 1 << 20;
      route.handle = [this](const http::Request& request) {
        const std::lock_guard lock(mutex_);
        received_.push_back(request);
        return response_;
      };
      primary_routes_.push_back(std::move(route));
    }
    primary_ = *http::Listener::start({}, primary_routes_);
    // As a query server has them, without its access control.
    server_ = *http::Listener::start({}, forward_routes(settings()));
  }

  ForwarderSettings settings() {
    return {.server = primary_->address(), .folder = folder_.path(), .ordered = [this] { ++ordered_; }};
  }
  http::Request only_request() {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(received_.size(), 1U);
    return received_.empty() ? http::Request() : std::exchange(received_, {}).front();
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::mutex mutex_;
  std::vector<http::Request> received_;  // by the primary server; protected by mutex_
  http::Response response_{.body = "{}"};
  std::atomic<int> ordered_ = 0;
  std::vector<http::Route> primary_routes_;
  std::unique_ptr<http::Listener> primary_;
  std::unique_ptr<http::Listener> server_;
};

TEST_F(ForwarderTest, QuestionsKeepTheirCallerAndTheirParameters) {
  http::Client client({.base_url = server_->address(), .credentials = {.token = "the-callers-own-token"}});
  const auto answer = client.send("GET", "/api/v1/findings?by=category&service=a%20b%26c%2F%C3%A4&empty=");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "{}");
  const http::Request request = only_request();
  EXPECT_EQ(request.path, "/api/v1/findings");
  EXPECT_THAT(request.query,
              ElementsAre(Pair("by", "category"), Pair("service", "a b&c/\xC3\xA4"), Pair("empty", "")));
  EXPECT_EQ(request.header("Authorization"), "Bearer the-callers-own-token");
  EXPECT_EQ(ordered_, 0);
}

TEST_F(ForwarderTest, NoCredentialsAreAdded) {
  http::Client client({.base_url = server_->address()});
  ASSERT_TRUE(client.send("GET", "/api/v1/status"));
  EXPECT_EQ(only_request().header("Authorization"), "");
}

TEST_F(ForwarderTest, OrdersAreSentOnceWithTheirBodies) {
  http::Client client({.base_url = server_->address()});
  const auto defined =
      client.send("PUT", "/api/v1/experiments/huge%20pages", R"({"feature": "x"})", "application/json");
  ASSERT_TRUE(defined) << defined.error().text();
  const http::Request request = only_request();
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/api/v1/experiments/huge pages");
  EXPECT_EQ(request.body, R"({"feature": "x"})");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(ordered_, 1);

  response_ = http::error_response(Error{ErrorCode::kDenied, "not yours", {}, {}});
  const auto refused = client.send("POST", "/api/v1/collection/stop", {}, "application/json");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->body, HasSubstr("not yours"));
  EXPECT_EQ(ordered_, 1);
}

// A primary server that hangs does not keep this one from ending.
TEST_F(ForwarderTest, OrdersEndWithTheirServerAndNotWithTheTimeOfQuestions) {
  std::atomic<bool> goes_on = false;
  http::Route slow;
  slow.method = "POST";
  slow.path = "/api/v1/collection/stop";
  slow.handle = [&goes_on](const http::Request&) {
    goes_on.wait(false);
    return http::Response{.body = "{}"};
  };
  const auto primary = *http::Listener::start({}, {slow});
  ForwarderSettings given = settings();
  given.server = primary->address();
  given.max_time = std::chrono::milliseconds(1);
  given.is_stopping = [&goes_on] {
    goes_on = true;
    goes_on.notify_all();
    return false;
  };
  const http::Request order{.method = "POST", .path = "/api/v1/collection/stop"};
  EXPECT_EQ(Forwarder(given).forward(order).status, 200);
  EXPECT_EQ(ordered_, 1);

  goes_on = false;
  given.is_stopping = [] { return true; };
  const http::Response ended = Forwarder(given).forward(order);
  EXPECT_EQ(ended.status, 503);
  EXPECT_THAT(ended.body, HasSubstr("look whether the order was carried out"));
  EXPECT_EQ(ordered_, 1);
  goes_on = true;
  goes_on.notify_all();
}

// The right that was asked for is that of the route's own path.
TEST_F(ForwarderTest, PathsThatLeaveTheirRouteAreNotSent) {
  const Forwarder forwarder(settings());
  for (const char* path :
       {"/api/v1/bursts/recordings/../../audit", "/api/v1/functions/..", "/api/v1/functions/./a",
        "/api/v1/experiments/../machines/revoke", "/api/v1/functions/a/../../directory"}) {
    EXPECT_EQ(forwarder.forward({.method = "GET", .path = path}).status, 404) << path;
    EXPECT_EQ(forwarder.forward({.method = "DELETE", .path = path}).status, 404) << path;
  }
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(forwarder.forward({.method = "GET", .path = "/api/v1/functions/..a/b..c"}).status, 200);
  EXPECT_EQ(only_request().path, "/api/v1/functions/..a/b..c");
}

TEST_F(ForwarderTest, LongAnswersComeFromTheDiskAsTheyWere) {
  response_.body.assign(9 << 20, 'x');
  response_.body.back() = 'y';
  response_.content_type = "application/octet-stream";
  response_.headers = {{"ETag", "\"7\""}, {"Set-Cookie", "for the primary alone"}};
  http::Client client({.base_url = server_->address()});
  const auto answer = client.send("GET", "/api/v1/bursts/recordings/00ff");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->content_type, "application/octet-stream");
  EXPECT_EQ(answer->header("ETag"), "\"7\"");
  EXPECT_EQ(answer->header("Set-Cookie"), "");
  EXPECT_TRUE(answer->body == response_.body);
}

TEST_F(ForwarderTest, WhatIsTooLongIsRefused) {
  response_.body.assign(2 << 20, 'x');
  ForwarderSettings limited = settings();
  limited.max_bytes = 1 << 20;
  const http::Response answer = Forwarder(limited).forward({.method = "GET", .path = "/api/v1/status"});
  EXPECT_EQ(answer.status, 413);
}

TEST_F(ForwarderTest, ServersThatSendToEachOtherEnd) {
  ForwarderSettings circle = settings();
  circle.server = server_->address();
  const http::Response answer = Forwarder(circle).forward({.method = "GET", .path = "/api/v1/status"});
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("primary.server"));
  EXPECT_TRUE(received_.empty());
}

TEST_F(ForwarderTest, WithoutThePrimaryTheAnswerSaysSo) {
  primary_->stop();
  http::Client client({.base_url = server_->address()});
  const auto answer = client.send("GET", "/api/v1/status");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_THAT(answer->body, HasSubstr("asking the primary server"));
}

// A view that reads the data directory has to be answered there, and each order given there: with the same right here.
TEST_F(ForwarderTest, EachViewIsAnsweredHereOrThere) {
  const std::vector<http::Route> routes = forward_routes(settings());
  const auto find = [&routes](std::string_view method, const std::string& path) {
    const auto found = std::ranges::find_if(
        routes, [&](const http::Route& route) { return route.method == method && route.path == path; });
    return found == routes.end() ? nullptr : &*found;
  };
  for (const query::View& view : query::views()) {
    const http::Route* const question = find("GET", "/api/v1/" + view.name);
    EXPECT_EQ(question != nullptr, view.answer && view.reads_directory) << view.name;
    if (question != nullptr) {
      EXPECT_EQ(question->right,
                view.audience == query::Audience::kReaders ? http::Right::kRead : http::Right::kOrder);
    }
  }
  for (const http::Route& route : routes) {
    EXPECT_EQ(route.right == http::Right::kOrder, route.method != "GET") << route.path;
  }
  EXPECT_NE(find("POST", "/api/v1/collection/measure"), nullptr);
  EXPECT_NE(find("POST", "/api/v1/machines/revoke"), nullptr);
  EXPECT_NE(find("DELETE", "/api/v1/experiments/"), nullptr);
  EXPECT_EQ(find("GET", "/api/v1/fdo/autofdo")->right, http::Right::kPullProfile);
}

}  // namespace
}  // namespace plimsoll::server::forwarder_test
