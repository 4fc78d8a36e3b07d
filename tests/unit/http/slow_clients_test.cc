// Clients that are slow, go away or send noise: what they hold, and for how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Http, AHandlerLearnsThatItsClientHasGone) {
  std::latch entered(1);
  std::promise<bool> noticed;
  const auto listener = started({route("GET", "/slow", [&](const Request& request) {
    EXPECT_FALSE(request.is_abandoned());
    entered.count_down();
    noticed.set_value(wait_until(request.is_abandoned));
    return text_response("too late");
  })});
  {
    RawConnection client(*listener);
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    entered.wait();
  }
  EXPECT_TRUE(noticed.get_future().get());
}

TEST(Http, AHeadThatNeverEndsIsGivenUp) {
  const auto listener = started({route("GET", "/", echo)}, {.timeout_s = 0, .head_timeout_s = 1});
  RawConnection silent(*listener);
  RawConnection slow(*listener);
  slow.send("GET / HTTP/1.1\r\nHost: a\r\nX: ");
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_EQ(slow.receive_all(), "");
}

TEST(Http, ABodyThatComesTooSlowlyIsGivenUp) {
  const auto listener =
      started({route("PUT", "/", echo, 1000)}, {.timeout_s = 0, .grace_s = 1, .min_bytes_per_s = 1'000'000});
  RawConnection slow(*listener);
  slow.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
  EXPECT_EQ(slow.receive_all(), "");
}

TEST(Http, AnAnswerThatNobodyReadsIsGivenUp) {
  const std::string large(64 << 20, 'x');
  const auto listener = started({route("GET", "/", [&](const Request&) { return text_response(large); })},
                                {.timeout_s = 0, .grace_s = 1, .min_bytes_per_s = 1U << 30U});
  RawConnection idle(*listener);
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait_until([&] { return idle.is_at_its_end(); }));
}

TEST(Http, AnswersThatNobodyReadsAreBoundedInSum) {
  const std::string large(40 << 20, 'x');
  const auto listener = started({route("GET", "/large", [&](const Request&) { return text_response(large); }),
                                 route("GET", "/small", echo)},
                                {.max_unread_bytes = 100UL << 20});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (size_t i = 0; i < 2; ++i) {
    idle.push_back(std::make_unique<RawConnection>(*listener));
    idle.back()->send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == (i + 1) * large.size(); }));
  }
  const auto third = client_of(*listener).send("GET", "/large");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->status, 503);
  EXPECT_EQ(third->header("Retry-After"), "1");
  EXPECT_EQ(client_of(*listener).send("GET", "/small")->status, 200);
  // Whoever reads makes room.
  EXPECT_GT(idle.back()->receive(large.size()), large.size());
  EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == large.size(); }));
  EXPECT_EQ(client_of(*listener).send("GET", "/large")->status, 200);
}

TEST(Http, AnAnswerLargerThanAllThatMayBeUnreadIsSentAlone) {
  const std::string large(4 << 20, 'x');
  const auto listener = started({route("GET", "/", [&](const Request&) { return text_response(large); })},
                                {.max_unread_bytes = 1UL << 20});
  EXPECT_EQ(client_of(*listener).send("GET", "/")->body.size(), large.size());
  EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == 0; }));
  EXPECT_EQ(client_of(*listener).send("GET", "/")->body.size(), large.size());
}

TEST(Http, WhoReadsSlowestGivesWayToTheNext) {
  const std::string large(40 << 20, 'x');
  const auto listener = started({route("GET", "/", [&](const Request&) { return text_response(large); })},
                                {.max_unread_bytes = 1UL << 20});
  RawConnection idle(*listener);
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == large.size(); }));
  EXPECT_TRUE(wait_until([&] { return client_of(*listener).send("GET", "/")->status == 200; }));
  EXPECT_TRUE(idle.is_at_its_end());
}

TEST(Http, AHandlerMayTakeItsTime) {
  const auto listener =
      started({route("GET", "/slow",
                     [](const Request&) {
                       const int64_t until_ns = monotonic_now_ns() + 3 * kNsPerSecond;
                       EXPECT_TRUE(wait_until([&] { return monotonic_now_ns() > until_ns; }));
                       return text_response("done");
                     })},
              {.timeout_s = 0, .head_timeout_s = 1, .grace_s = 1});
  EXPECT_EQ(client_of(*listener).send("GET", "/slow")->body, "done");
}

TEST(Http, IsNotHeldUpByHalfSentRequests) {
  const auto listener = started({route("PUT", "/echo", echo, 1000)});
  std::vector<std::unique_ptr<RawConnection>> stalled;
  for (const char* part : {"", "PU", "PUT /echo HTTP/1.1\r\nHost:",
                           "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
                           "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    for (int i = 0; i < 4; ++i) {
      stalled.push_back(std::make_unique<RawConnection>(*listener));
      stalled.back()->send(part);
    }
  }
  Client client = client_of(*listener);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.send("PUT", "/echo", "x")->body, "x");
  }
}

TEST(Http, ClosesConnectionsOnWhichNothingMoves) {
  const auto listener = started({route("PUT", "/echo", echo, 1000)}, {.timeout_s = 1});
  RawConnection connection(*listener);
  connection.send("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
  const int64_t begin_ns = monotonic_now_ns();
  connection.receive_all();
  EXPECT_LT(monotonic_now_ns() - begin_ns, kGuardNs);
}

TEST(Http, OutlivesClientsThatGoAwayAndNoise) {
  const auto listener = started(
      {route("GET", "/large", [](const Request&) { return text_response(std::string(8 << 20, 'a')); })});
  for (int i = 0; i < 5; ++i) {
    RawConnection connection(*listener);
    connection.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    connection.close_with_reset();
    RawConnection noise(*listener);
    noise.send("\x16\x03\x01\x02 not http\r\n\r\n");
    EXPECT_THAT(noise.receive_all(), Not(HasSubstr("200 OK")));
  }
  EXPECT_EQ(client_of(*listener).send("GET", "/large")->body.size(), 8 << 20);
}

}  // namespace
}  // namespace plimsoll::http
