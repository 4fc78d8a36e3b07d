// Where a listener listens and whom it serves, and what its clients say of what fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http {
namespace {

using ::testing::HasSubstr;

TEST(Http, ServesManyClientsAtOnce) {
  std::atomic<uint64_t> received_bytes = 0;
  const auto listener = started({route(
                                    "POST", "/sum",
                                    [&](const Request& request) {
                                      received_bytes += request.body.size();
                                      return text_response(std::to_string(request.body.size()));
                                    },
                                    1 << 20)},
                                {.threads = 4});
  std::atomic<uint64_t> sent_bytes = 0;
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      Client client = client_of(*listener);
      std::mt19937 random(seed);
      for (int i = 0; i < 50; ++i) {
        const std::string body(random() % 100'000, 'a');
        const auto response = client.send("POST", "/sum", body);
        ASSERT_TRUE(response.has_value()) << response.error().text();
        EXPECT_EQ(response->body, std::to_string(body.size()));
        sent_bytes += body.size();
      }
    });
  }
  threads.clear();
  EXPECT_GT(sent_bytes, 0);
  EXPECT_EQ(received_bytes, sent_bytes);
}

TEST(Http, RefusesAddressesBeyondLoopbackUnlessAllowed) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0"}) {
    const auto refused = Listener::start({.address = address}, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
    EXPECT_THAT(refused.error().message, HasSubstr(address));
    EXPECT_THAT(refused.error().hint, HasSubstr("127.0.0.1"));
  }
  const auto allowed =
      started({route("GET", "/", echo)}, {.address = "0.0.0.0:0", .allow_beyond_loopback = true});
  EXPECT_EQ(Client({.base_url = "http://127.0.0.1:" + std::to_string(allowed->port()) + "/"})
                .send("GET", "/")
                ->status,
            200);
}

TEST(Http, RefusesWrongAddressesRoutesAndOptions) {
  for (const char* address : {"", "7070", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70707", ":7070", "::1:7070",
                              "[::1]", "127.0.0.1:7070 "}) {
    const auto refused = Listener::start({.address = address}, {});
    ASSERT_FALSE(refused.has_value()) << address;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << address;
  }
  EXPECT_FALSE(Listener::start({}, {route("GET", "relative", echo)}).has_value());
  EXPECT_FALSE(Listener::start({}, {route("GET", "/a", nullptr)}).has_value());
  EXPECT_FALSE(Listener::start({}, {route("GET", "/a", echo), route("GET", "/a", echo)}).has_value());
  EXPECT_FALSE(Listener::start({}, {{"GET", "/a", true, 0, echo}}).has_value());
  EXPECT_FALSE(Listener::start({.threads = 0}, {}).has_value());
  EXPECT_FALSE(Listener::start({.max_buffered_bytes = 9}, {route("PUT", "/a", echo, 10)}).has_value());
}

TEST(Http, NamesTheAddressThatIsTaken) {
  const auto first = started({});
  const auto second = Listener::start({.address = first->address()}, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr(first->address()));
}

TEST(Http, ServesWithOneThread) {
  const auto listener = started({route("GET", "/", echo)}, {.threads = 1});
  EXPECT_EQ(client_of(*listener).send("GET", "/")->status, 200);
}

TEST(Client, ExplainsWhatFailed) {
  const auto listener = started({});
  Client client = client_of(*listener);
  listener->stop();
  const auto closed = client.send("GET", "/a");
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(closed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(closed.error().message, HasSubstr("http://" + listener->address() + "/a"));
  EXPECT_THAT(closed.error().hint, HasSubstr(listener->address()));

  for (const char* url : {"ftp://127.0.0.1:1", "http://", "http://a b:1"}) {
    EXPECT_EQ(Client({.base_url = url}).send("GET", "/").error().code, ErrorCode::kInvalid) << url;
  }
  EXPECT_EQ(client.send("GE T", "/").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.send("GET", "@example.com/").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.send("GET", "/a b").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.send("PUT", "/", "", "a\r\nb: c").error().code, ErrorCode::kInvalid);
}

TEST(Client, BoundsTheResponseAndTheTime) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  const auto listener =
      started({route("GET", "/large", [](const Request&) { return text_response(std::string(1001, 'a')); }),
               route("GET", "/slow", [released](const Request&) {
                 released.wait();
                 return text_response("");
               })});
  Client client = client_of(*listener, 1000);
  EXPECT_EQ(client.send("GET", "/large").error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(client_of(*listener, 1001).send("GET", "/large").has_value());

  Client hasty({.base_url = listener->address(), .timeout_ms = 50});
  const auto late = hasty.send("GET", "/slow");
  release.set_value();
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(late.error().hint, HasSubstr("50 ms"));
}

TEST(Client, MovesAndKeepsItsConnection) {
  std::vector<std::string> peers;
  const auto listener = started({route("GET", "/", [&](const Request& request) {
    peers.push_back(request.peer);
    return text_response("");
  })});
  Client first = client_of(*listener);
  ASSERT_TRUE(first.send("GET", "/").has_value());
  Client second = std::move(first);
  ASSERT_TRUE(second.send("GET", "/").has_value());
  ASSERT_EQ(peers.size(), 2);
  EXPECT_EQ(peers[0], peers[1]);
}

// Where it could not, this would take as long as the request may.
TEST(Http, GivesUpARequestThatIsCancelled) {
  std::promise<void> arrived;
  std::promise<void> cancelled;
  const auto listener = started({route("GET", "/slow", [&](const Request&) {
    arrived.set_value();
    cancelled.get_future().wait();
    return text_response("late");
  })});
  const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC));
  Client client({.base_url = listener->address(), .timeout_ms = 3'600'000, .cancel_fd = cancel.get()});
  std::thread canceller([&] {
    arrived.get_future().wait();
    ::eventfd_write(cancel.get(), 1);
  });
  const auto response = client.send("GET", "/slow");
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().text(), HasSubstr("it was cancelled"));
  canceller.join();
  cancelled.set_value();
}

}  // namespace
}  // namespace plimsoll::http
