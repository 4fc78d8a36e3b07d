// Answers that other threads give while the request takes none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "http/later_answer.h"
#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http {
namespace {

// Requests that wait for their answers.
class Waiting {
 public:
  Route route(size_t max_body_bytes = 1 << 20) {
    Route route;
    route.method = "POST";
    route.path = "/later";
    route.max_body_bytes = max_body_bytes;
    route.handle_later = [this](Request& request, LaterAnswer answer) {
      const std::lock_guard lock(mutex_);
      waiting_.emplace_back(std::move(request.body), std::move(answer));
      changed_.notify_all();
    };
    return route;
  }

  // Once there are so many.
  std::vector<std::pair<std::string, LaterAnswer>> take(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() >= count; });
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, LaterAnswer>> waiting_;  // guarded by mutex_
};

std::future<Result<Response>> sent(const Listener& listener, std::string body) {
  return std::async(std::launch::async, [&listener, body = std::move(body)] {
    return client_of(listener).send("POST", "/later", body);
  });
}

TEST(LaterAnswers, WaitWithoutAThread) {
  Waiting waiting;
  const auto listener = started({waiting.route(), route("GET", "/now", echo)}, {.threads = 1});
  std::vector<std::future<Result<Response>>> sent_bodies;
  for (int i = 0; i < 20; ++i) {
    sent_bodies.push_back(sent(*listener, std::to_string(i)));
  }
  auto requests = waiting.take(20);
  EXPECT_EQ(client_of(*listener).send("GET", "/now")->status, 200) << "the only thread is free";
  for (auto request = requests.rbegin(); request != requests.rend(); ++request) {
    request->second.give(text_response(request->first + "!"));
  }
  for (int i = 0; i < 20; ++i) {
    const auto response = sent_bodies[static_cast<size_t>(i)].get();
    ASSERT_TRUE(response) << response.error().text();
    EXPECT_EQ(response->body, std::to_string(i) + "!");
  }
}

TEST(LaterAnswers, MayBeGivenAtOnce) {
  Route at_once = route("POST", "/later", {}, 1000);
  at_once.handle_later = [](Request& request, LaterAnswer answer) {
    answer.give(text_response(request.body));
    answer.give(text_response("twice"));
  };
  const auto listener = started({at_once});
  Client client = client_of(*listener);
  for (int i = 0; i < 100; ++i) {
    const auto response = client.send("POST", "/later", std::to_string(i));
    ASSERT_TRUE(response) << response.error().text();
    EXPECT_EQ(response->body, std::to_string(i));
  }
}

TEST(LaterAnswers, BodiesThatWaitAreTheHandlersToCount) {
  Waiting waiting;
  const auto listener = started({waiting.route()}, {.max_buffered_bytes = 1 << 20});
  const std::string body(1 << 20, 'x');
  std::vector<std::future<Result<Response>>> sent_bodies;
  std::vector<std::pair<std::string, LaterAnswer>> requests;
  for (int i = 0; i < 3; ++i) {
    sent_bodies.push_back(sent(*listener, body));
    auto taken = waiting.take(1);
    requests.push_back(std::move(taken.front()));
    EXPECT_EQ(listener->buffered_bytes(), 0);
  }
  for (auto& [text, answer] : requests) {
    EXPECT_EQ(text.size(), body.size());
    answer.give(text_response("taken"));
  }
  for (auto& response : sent_bodies) {
    EXPECT_EQ(response.get()->status, 200);
  }
}

TEST(LaterAnswers, ThatNobodyGivesAreErrors) {
  Route forgetful = route("POST", "/later", {}, 1000);
  forgetful.handle_later = [](Request&, LaterAnswer) {};
  Route throwing = route("POST", "/throws", {}, 1000);
  throwing.handle_later = [](Request&, LaterAnswer) { throw std::runtime_error("out of order"); };
  const auto listener = started({forgetful, throwing});
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("POST", "/later", "a")->status, 500);
  EXPECT_EQ(client.send("POST", "/throws", "a")->status, 500);
  listener->stop();
}

TEST(LaterAnswers, AreWaitedForByStop) {
  Waiting waiting;
  const auto listener = started({waiting.route()});
  auto response = sent(*listener, "first");
  auto requests = waiting.take(1);
  auto stopping = std::async(std::launch::async, [&] { listener->stop(); });
  requests.front().second.give(text_response("the last one"));
  EXPECT_EQ(response.get()->body, "the last one");
  stopping.get();
}

}  // namespace
}  // namespace plimsoll::http
