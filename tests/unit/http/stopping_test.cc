// Stopping: running requests finish, and no reply is cut in half.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http {
namespace {

TEST(Http, LetsLongRequestsFinishWhenItStops) {
  std::latch entered(1);
  std::latch release(1);
  const auto listener = started({long_route(
                                    "PUT", "/long",
                                    [&](const Request& request) {
                                      if (request.body == "first") {
                                        entered.count_down();
                                        release.wait();
                                      }
                                      return echo(request);
                                    },
                                    1000)},
                                {.pools = {.long_threads = 1}});
  const auto send_long = [&](std::string body) {
    return std::async(std::launch::async,
                      [&, body] { return client_of(*listener).send("PUT", "/long", body); });
  };
  auto first = send_long("first");
  entered.wait();
  auto stopping = std::async(std::launch::async, [&] { listener->stop(); });
  release.count_down();
  EXPECT_EQ(first.get()->body, "first");
  stopping.get();
}

TEST(Http, LetsRunningRequestsFinishWhenItStops) {
  std::latch entered(1);
  std::promise<void> release;
  const auto listener = started({route("GET", "/wait", [&](const Request&) {
    entered.count_down();
    release.get_future().wait();
    return text_response(std::string(1 << 20, 'a'));
  })});
  auto reply = std::async(std::launch::async, [&] { return client_of(*listener).send("GET", "/wait"); });
  entered.wait();
  auto stopped = std::async(std::launch::async, [&] { listener->stop(); });
  release.set_value();
  listener->stop();
  stopped.get();
  const auto response = reply.get();
  ASSERT_TRUE(response.has_value()) << response.error().text();
  EXPECT_EQ(response->body.size(), 1 << 20);
  EXPECT_FALSE(client_of(*listener).send("GET", "/wait").has_value());
}

TEST(Http, StopsUnderLoadWithoutHalfReplies) {
  const auto listener = started({route("POST", "/echo", echo, 1 << 20)}, {.threads = 4});
  std::latch warm(4);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Client client = client_of(*listener);
      const std::string body(50'000, 'a');
      for (int sent = 0;; ++sent) {
        const auto response = client.send("POST", "/echo", body);
        if (sent == 3) {
          warm.count_down();
        }
        if (!response || response->status == 503) {
          EXPECT_GE(sent, 3);
          break;
        }
        ASSERT_EQ(response->body.size(), body.size());
      }
    });
  }
  warm.wait();
  listener->stop();
}

}  // namespace
}  // namespace plimsoll::http
