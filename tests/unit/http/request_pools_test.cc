// Long requests and questions: places and threads by caller, and questions that end with their client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>

#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Http, AnswersShortRequestsWhileLongOnesAreHandled) {
  std::latch entered(2);
  std::latch release(1);
  const auto listener = started({long_route(
                                     "PUT", "/long",
                                     [&](const Request& request) {
                                       entered.count_down();
                                       release.wait();
                                       return echo(request);
                                     },
                                     1000),
                                 route("GET", "/short", [](const Request&) { return text_response("now"); })},
                                {.threads = 1, .pools = {.long_threads = 2}});
  const auto send_long = [&](std::string body) {
    return std::async(std::launch::async,
                      [&, body] { return client_of(*listener).send("PUT", "/long", body); });
  };
  auto first = send_long("a");
  auto second = send_long("b");
  entered.wait();
  EXPECT_EQ(client_of(*listener).send("GET", "/short")->body, "now");
  release.count_down();
  EXPECT_EQ(first.get()->body, "a");
  EXPECT_EQ(second.get()->body, "b");
}

TEST(Http, LongRequestsLeaveProcessorsToOthers) {
  const auto own_nice = [](const Request&) {
    return text_response(std::to_string(::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()))));
  };
  Route order = route("GET", "/order", own_nice);
  order.threads = Threads::kControl;
  const auto listener = started({long_route("GET", "/long", own_nice, 0), std::move(order)}, {});
  const int nice_of_process = ::getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(client_of(*listener).send("GET", "/long")->body,
            std::to_string(std::min(19, nice_of_process + 5)));
  EXPECT_EQ(client_of(*listener).send("GET", "/order")->body, std::to_string(nice_of_process));
}

TEST(Http, RefusesMoreLongRequestsThanMayWait) {
  std::atomic_flag entered;
  std::latch release(1);
  const auto listener = started({long_route(
                                    "PUT", "/long",
                                    [&](const Request& request) {
                                      entered.test_and_set();
                                      entered.notify_all();
                                      release.wait();
                                      return text_response(std::to_string(request.body.size()));
                                    },
                                    4 << 20)},
                                {.pools = {.long_threads = 1, .max_requests = 1}});
  auto running = std::async(std::launch::async,
                            [&] { return client_of(*listener).send("PUT", "/long", "the only one"); });
  entered.wait(false);
  Client client = client_of(*listener);
  for (const size_t size : {0UL, 100'000UL, 3UL << 20}) {
    const auto refused = client.send("PUT", "/long", std::string(size, 'a'));
    ASSERT_TRUE(refused.has_value()) << size << refused.error().text();
    EXPECT_EQ(refused->status, 429);
    EXPECT_EQ(refused->header("Retry-After"), "1");
    // What is small is read to its end, so that the connection stays of use.
    EXPECT_EQ(refused->header("Connection"), size > 1'000'000 ? "close" : "");
    EXPECT_EQ(error_of(*refused, "sending").code, ErrorCode::kUnavailable);
  }
  EXPECT_LT(listener->buffered_bytes(), 100);
  release.count_down();
  EXPECT_EQ(running.get()->body, "12");
  ASSERT_TRUE(wait_until([&] { return client.send("PUT", "/long", "again")->ok(); }));
}

TEST(Http, OneCallerLeavesPlacesForOthers) {
  std::latch release(1);
  const auto listener =
      started({long_route(
                  "PUT", "/long",
                  [&](const Request& request) {
                    release.wait();
                    return echo(request);
                  },
                  1000)},
              {.pools = {.long_threads = 1, .max_requests = 4, .serves_callers_in_turn = true}});
  std::vector<std::future<Result<Response>>> waiting;
  const auto send = [&] {
    waiting.push_back(
        std::async(std::launch::async, [&] { return client_of(*listener).send("PUT", "/long", "four"); }));
  };
  send();
  send();
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() == 8; })) << "both have a place";
  EXPECT_EQ(client_of(*listener).send("PUT", "/long", "more")->status, 429);
  RawConnection other(*listener, "127.0.0.2");
  other.send("PUT /long HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfour");
  EXPECT_TRUE(wait_until([&] { return listener->buffered_bytes() == 12; })) << "another address finds one";
  release.count_down();
  for (auto& answer : waiting) {
    EXPECT_EQ(answer.get()->body, "four");
  }
}

TEST(Http, AsksWhomItServedToComeInTurnWhileOthersWait) {
  std::atomic_flag entered;
  std::latch release(1);
  const auto listener = started({long_route(
                                    "PUT", "/long",
                                    [&](const Request& request) {
                                      entered.test_and_set();
                                      entered.notify_all();
                                      release.wait();
                                      return echo(request);
                                    },
                                    1000)},
                                {.pools = {.long_threads = 1, .max_requests = 2}});
  const auto send = [&](std::string body) {
    return std::async(std::launch::async,
                      [&, body] { return client_of(*listener).send("PUT", "/long", body); });
  };
  auto first = send("first");
  entered.wait(false);
  auto second = send("second");
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() == 11; })) << "both bodies are there";
  release.count_down();
  EXPECT_EQ(first.get()->header("Retry-After"), "1");
  EXPECT_EQ(second.get()->header("Retry-After"), "") << "nobody waits any more";
}

TEST(Http, CountsLongRequestsWhileTheyAreReceived) {
  const auto listener = started({long_route("PUT", "/long", echo, 1000)}, {.pools = {.max_requests = 1}});
  auto slow = std::make_unique<RawConnection>(*listener);
  slow->send("PUT /long HTTP/1.1\r\nHost: a\r\nContent-Length: 800\r\n\r\n");
  slow->send(std::string(700, 'a'));
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() > 0; }));
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("PUT", "/long", "b")->status, 429);
  slow.reset();
  ASSERT_TRUE(wait_until([&] { return client.send("PUT", "/long", "b")->ok(); }));
}

Route question(std::string path, std::function<Response(const Request&)> handle) {
  Route result = long_route("GET", std::move(path), std::move(handle), 0);
  result.is_question = true;
  return result;
}

WorkCounts long_counts(const Listener& listener) {
  return listener.counts().pools.at(0).counts;
}

// Questions that wait until they are abandoned or released.
struct SlowQuestions {
  Route route() {
    return question("/slow", [this](const Request& request) {
      ++begun;
      const bool has_ended = wait_until([&] { return released.load() || request.is_abandoned(); });
      EXPECT_TRUE(has_ended);
      return text_response(request.is_abandoned() ? "too late" : "slow");
    });
  }
  static constexpr const char* kAsk = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";

  std::atomic<int> begun = 0;
  std::atomic<bool> released = false;
};

TEST(Http, AQuestionEndsWithItsClientAndNoneBeginsWithoutOne) {
  SlowQuestions slow;
  const auto listener = started({slow.route(), question("/quick", echo)}, {.pools = {.long_threads = 1}});
  auto running = std::make_unique<RawConnection>(*listener);
  running->send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  {
    RawConnection waiting(*listener);
    waiting.send(SlowQuestions::kAsk);
    ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  }
  EXPECT_EQ(long_counts(*listener).cancelled, 0);
  running.reset();
  EXPECT_EQ(client_of(*listener).send("GET", "/quick")->status, 200);
  EXPECT_EQ(long_counts(*listener).cancelled, 2);
  EXPECT_EQ(slow.begun, 1);
}

TEST(Http, QuestionsWhoseClientsHaveGoneMakeRoomForOthers) {
  SlowQuestions slow;
  const auto listener = started({slow.route()}, {.pools = {.long_threads = 1, .max_requests = 2}});
  RawConnection running(*listener);
  running.send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  {
    RawConnection waiting(*listener);
    waiting.send(SlowQuestions::kAsk);
    ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  }
  RawConnection next(*listener);
  next.send(SlowQuestions::kAsk);
  EXPECT_TRUE(wait_until([&] {
    const WorkCounts counts = long_counts(*listener);
    return counts.cancelled == 1 && counts.waiting == 1;
  })) << "it has the place of the one before";
  slow.released = true;
}

TEST(Http, ACallerHasNeitherAllThreadsNorAllPlaces) {
  SlowQuestions slow;
  const auto listener =
      started({slow.route(), question("/quick", echo)},
              {.pools = {.long_threads = 2, .max_requests = 4, .serves_callers_in_turn = true}});
  std::vector<std::unique_ptr<RawConnection>> greedy;
  for (int i = 0; i < 2; ++i) {
    greedy.push_back(std::make_unique<RawConnection>(*listener, "127.0.0.2"));
    greedy.back()->send(SlowQuestions::kAsk);
  }
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1 && long_counts(*listener).waiting == 1; }))
      << "with a thread free";
  RawConnection more(*listener, "127.0.0.2");
  more.send("GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(more.receive_all(), AllOf(HasSubstr(" 429 "), HasSubstr("Retry-After: "),
                                        HasSubstr("too many requests of 127.0.0.2 to /quick")));
  EXPECT_EQ(client_of(*listener).send("GET", "/quick")->status, 200) << "of another caller";
  EXPECT_EQ(long_counts(*listener).refused, 1);
  slow.released = true;
}

TEST(Http, QuestionsThatFindNoPlaceAreToComeBack) {
  SlowQuestions slow;
  const auto listener = started(
      {slow.route()}, {.pools = {.long_threads = 1, .max_requests = 1, .serves_callers_in_turn = true}});
  RawConnection running(*listener, "127.0.0.2");
  running.send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  const auto refused = client_of(*listener).send("GET", "/slow");
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  slow.released = true;
}

TEST(Http, GivesUpQuestionsAndServesAllElse) {
  SlowQuestions slow;
  const auto listener =
      started({slow.route(), long_route("GET", "/order", echo, 0), route("GET", "/health", echo)},
              {.pools = {.long_threads = 1}});
  auto running = std::async(std::launch::async, [&] { return client_of(*listener).send("GET", "/slow"); });
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  auto waiting = std::async(std::launch::async, [&] { return client_of(*listener).send("GET", "/slow"); });
  ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  listener->give_up_questions();
  EXPECT_EQ(running.get()->body, "too late");
  EXPECT_EQ(waiting.get()->status, 503);
  EXPECT_THAT(client_of(*listener).send("GET", "/slow")->body, HasSubstr("the server is stopping"));
  EXPECT_EQ(slow.begun, 1);
  EXPECT_EQ(client_of(*listener).send("GET", "/order")->status, 200);
  EXPECT_EQ(client_of(*listener).send("GET", "/health")->status, 200);
}

TEST(Http, AnOrderIsCarriedOutThoughItsClientHasGone) {
  SlowQuestions slow;
  std::promise<void> done;
  const auto listener = started({slow.route(), long_route(
                                                   "POST", "/order",
                                                   [&](const Request&) {
                                                     done.set_value();
                                                     return text_response("done");
                                                   },
                                                   100)},
                                {.pools = {.long_threads = 1}});
  RawConnection running(*listener);
  running.send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  {
    RawConnection order(*listener);
    order.send("POST /order HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n!");
    ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  }
  slow.released = true;
  done.get_future().get();
}

}  // namespace
}  // namespace plimsoll::http
