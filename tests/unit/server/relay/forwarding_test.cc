// Batches against a simple model: each request is answered once, with its own answer, whatever becomes of its batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <latch>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/fleet_messages.h"
#include "server/relay/gatherer.h"
#include "server/relay/relay_codec.h"
#include "server/relay/relay_lane.h"
#include "tests/eventually.h"

namespace plimsoll::server {
namespace {

using plimsoll::testing::eventually;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSteps = 20'000;

// What each request was answered, by its number.
class Answers {
 public:
  RelayEntry entry(int number, size_t bytes) {
    wire::Relayed request;
    request.set_heartbeat(std::to_string(number) + ":" + std::string(bytes, 'x'));
    return {.request = std::move(request),
            .answer = http::LaterAnswer([this, number](http::Response response) {
              const std::lock_guard lock(mutex_);
              given_[number].push_back(std::move(response));
            })};
  }

  size_t count() {
    const std::lock_guard lock(mutex_);
    return given_.size();
  }
  std::map<int, std::vector<http::Response>> given() {
    const std::lock_guard lock(mutex_);
    return given_;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<http::Response>> given_;  // guarded by mutex_
};

int number_of(const wire::Relayed& request) {
  return std::stoi(request.heartbeat());
}

// The answer that a primary which is well gives to a request.
unsigned status_for(int number) {
  return number % 5 == 0 ? 403 : 200;
}

std::string body_for(int number) {
  return "answer to " + std::to_string(number);
}

enum class Mood { kWell, kGone, kBusy, kGarbage, kOneShort, kNoStatus, kTooLarge, kCount };

Result<http::Response> answered(Mood mood, const std::string& body) {
  const auto request = decode_relay_request(as_bytes(body));
  EXPECT_TRUE(request) << request.error().text();
  wire::RelayReply reply;
  reply.set_format_version(wire::kFormatVersion);
  for (const wire::Relayed& entry : request->entries()) {
    wire::RelayedReply& one = *reply.add_replies();
    one.set_status(mood == Mood::kNoStatus ? 42 : status_for(number_of(entry)));
    one.set_body(body_for(number_of(entry)));
  }
  switch (mood) {
    case Mood::kGone:
      return fail(ErrorCode::kUnavailable, "connection refused");
    case Mood::kBusy:
      return http::error_response(Error{ErrorCode::kUnavailable, "the disk is full", {}, {}});
    case Mood::kTooLarge: {
      http::Response refusal = http::error_response(Error{ErrorCode::kTooLarge, "too large", {}, {}});
      refusal.headers.emplace_back("Content-Length", std::to_string(refusal.body.size()));
      return refusal;
    }
    case Mood::kGarbage:
      return http::Response{.body = "<html>a captive portal</html>"};
    case Mood::kOneShort:
      reply.mutable_replies()->RemoveLast();
      break;
    default:
      break;
  }
  return http::Response{.body = reply.SerializeAsString()};
}

TEST(Forwarding, AnswersEachRequestOnceAsTheModelSays) {
  std::mt19937_64 random(20'261'201);
  const GatherLimits limits{.max_bytes = 64 << 10, .max_batch_entries = 8, .max_batch_bytes = 8 << 10};
  Gatherer gatherer(limits);
  PrimaryWatch watch;
  Answers answers;
  std::deque<int> waiting;                                   // the model of what the gatherer has
  std::map<int, std::pair<unsigned, std::string>> expected;  // status, and the body where it is 200 or 403
  int next = 0;
  int refused = 0;
  for (int step = 0; step < kSteps; ++step) {
    if (random() % 10 != 0) {
      const int number = next++;
      const size_t bytes = random() % 16 == 0 ? random() % (20 << 10) : random() % 600;
      const size_t held_before = gatherer.held_bytes();
      const size_t answers_before = answers.count();
      gatherer.add(answers.entry(number, bytes));
      if (answers.count() > answers_before) {
        EXPECT_GT(held_before + bytes + 2048, limits.max_bytes) << "there was room";
        expected[number] = {503, ""};
        ++refused;
      } else {
        waiting.push_back(number);
      }
      continue;
    }
    auto batch = gatherer.take(nanoseconds(0));
    ASSERT_EQ(batch.empty(), waiting.empty());
    if (batch.empty()) {
      continue;
    }
    EXPECT_LE(batch.size(), limits.max_batch_entries);
    const Mood mood =
        random() % 2 == 0 ? Mood::kWell : static_cast<Mood>(random() % static_cast<int>(Mood::kCount));
    for (const RelayEntry& entry : batch) {
      ASSERT_FALSE(waiting.empty());
      const int number = waiting.front();
      waiting.pop_front();
      EXPECT_EQ(number_of(entry.request), number) << "the oldest first";
      expected[number] = mood == Mood::kWell ? std::pair(status_for(number), body_for(number))
                         : mood == Mood::kTooLarge && batch.size() == 1 ? std::pair(413U, std::string())
                                                                        : std::pair(503U, std::string());
    }
    const size_t entries = batch.size();
    forward_batch(
        std::move(batch), "/batches",
        [&](std::string_view path, const std::string& body) {
          EXPECT_EQ(path, "/batches");
          EXPECT_TRUE(entries == 1 || body.size() <= limits.max_batch_bytes + 16) << body.size();
          return answered(mood, body);
        },
        watch);
  }
  gatherer.stop();
  gatherer.add(answers.entry(next, 10));
  expected[next] = {503, ""};
  for (const int number : waiting) {
    expected[number] = {503, ""};
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(gatherer.held_bytes(), 0);
  const auto given = answers.given();
  ASSERT_EQ(given.size(), expected.size());
  for (const auto& [number, responses] : given) {
    ASSERT_EQ(responses.size(), 1) << number;
    const auto& [status, body] = expected.at(number);
    EXPECT_EQ(responses.front().status, status) << number;
    if (!body.empty()) {
      EXPECT_EQ(responses.front().body, body);
    }
    EXPECT_EQ(responses.front().header("Content-Length"), "") << "it belongs to the primary's connection";
    if (status == 503) {
      EXPECT_GT(http::retry_after_s(responses.front()), 0);
    }
  }
}

TEST(Forwarding, ALargeRequestHasTheRoomAlone) {
  Answers answers;
  Gatherer gatherer({.max_bytes = 4 << 10, .max_batch_bytes = 1 << 10});
  gatherer.add(answers.entry(1, 64 << 10));
  gatherer.add(answers.entry(2, 10));
  EXPECT_EQ(answers.given().at(2).front().status, 503);
  EXPECT_EQ(gatherer.take(nanoseconds(0)).size(), 1);  // unanswered entries answer themselves
  EXPECT_EQ(answers.given().at(1).front().status, 500);
  gatherer.add(answers.entry(3, 10));
  EXPECT_EQ(gatherer.waiting(), 1);
}

TEST(Forwarding, SaysWhetherThePrimaryAnswers) {
  PrimaryWatch watch;
  EXPECT_THAT(primary_readiness(watch.status(), 0).error().text(), HasSubstr("it was not asked yet"));
  watch.failed(3, {ErrorCode::kUnavailable, "connection refused", {}, {}}, 500);
  EXPECT_THAT(primary_readiness(watch.status(), 0).error().text(), HasSubstr("connection refused"));
  EXPECT_THAT(public_readiness(watch.status(), 0).error().text(), Not(HasSubstr("connection refused")));
  watch.answered(2, 1000);
  EXPECT_TRUE(primary_readiness(watch.status(), 2000));
  EXPECT_TRUE(public_readiness(watch.status(), 2000));
  EXPECT_FALSE(primary_readiness(watch.status(), 60 * int64_t{1'000'000'000}));
  const RelayStatus status = watch.status();
  EXPECT_EQ(status.requests, 2);
  EXPECT_EQ(status.failed_requests, 3);
  EXPECT_EQ(status.batches, 1);
  EXPECT_EQ(status.failed_batches, 1);
  EXPECT_EQ(status.newest_error, "");
}

// As where the primary has room for the batches of some connections, and not of others.
TEST(Forwarding, FailuresThatComeAndGoAreLoggedOnceAMinute) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  const Error error{ErrorCode::kUnavailable, "the server is at its limit", {}, {}};
  PrimaryWatch watch;
  int lines = 0;
  for (int64_t ms = 0; ms < 59'000; ms += 10) {
    const int64_t now_ns = (1000 + ms / 1000) * kSecondNs;
    lines += watch.failed(1, error, now_ns) ? 1 : 0;
    lines += watch.failed(1, error, now_ns) ? 1 : 0;
    lines += watch.answered(1, now_ns) ? 1 : 0;
  }
  EXPECT_EQ(lines, 2) << "the first failure, and its end";
  EXPECT_EQ(watch.status().failed_batches, 2 * 5900);
  EXPECT_TRUE(watch.failed(1, error, 1060 * kSecondNs));
  EXPECT_FALSE(watch.failed(1, error, 9000 * kSecondNs)) << "it is known that it does not answer";
  EXPECT_TRUE(watch.answered(1, 9001 * kSecondNs));
  EXPECT_FALSE(watch.answered(1, 9002 * kSecondNs));
}

TEST(RelayLaneTest, AnswersWhatManyThreadsAdd) {
  constexpr int kThreads = 4;
  constexpr int kOfThread = 500;
  PrimaryWatch watch;
  Answers answers;
  std::atomic<int> posts = 0;
  RelayLane lane(
      {.path = "/batches", .connections = 3},
      [&posts]() -> PostBatch {
        return [&posts](std::string_view, const std::string& body) {
          return answered(++posts % 7 == 0 ? Mood::kGone : Mood::kWell, body);
        };
      },
      watch);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kOfThread; ++i) {
        lane.add(answers.entry(thread * kOfThread + i, 100));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(eventually([&] { return answers.count() == kThreads * kOfThread; })) << answers.count();
  lane.stop();
  for (const auto& [number, responses] : answers.given()) {
    ASSERT_EQ(responses.size(), 1) << number;
    const http::Response& response = responses.front();
    EXPECT_TRUE(response.status == 503 ||
                (response.status == status_for(number) && response.body == body_for(number)))
        << number << ": " << response.status << " " << response.body;
  }
  EXPECT_EQ(lane.held_bytes(), 0);
}

TEST(RelayLaneTest, WhatIsOnItsWayGetsItsAnswerWhenItStops) {
  PrimaryWatch watch;
  Answers answers;
  std::latch on_its_way(1);
  std::latch goes_on(1);
  RelayLane lane(
      {.path = "/batches", .connections = 1},
      [&]() -> PostBatch {
        return [&](std::string_view, const std::string& body) {
          on_its_way.count_down();
          goes_on.wait();
          return answered(Mood::kWell, body);
        };
      },
      watch);
  lane.add(answers.entry(1, 10));
  on_its_way.wait();
  lane.add(answers.entry(2, 10));
  lane.begin_stop();
  EXPECT_EQ(answers.given().at(2).front().status, 503) << "it had not been sent";
  goes_on.count_down();
  lane.stop();
  EXPECT_EQ(answers.given().at(1).front().status, 200);
}

TEST(RelayLaneTest, AsksThePrimaryWhileNoDaemonDoes) {
  PrimaryWatch watch;
  RelayLane lane(
      {.path = "/batches", .connections = 1, .asks_while_idle = true},
      []() -> PostBatch {
        return [](std::string_view, const std::string& body) { return answered(Mood::kWell, body); };
      },
      watch);
  EXPECT_TRUE(eventually([&] { return watch.status().batches > 0; }));
  EXPECT_EQ(watch.status().requests, 0);
}

}  // namespace
}  // namespace plimsoll::server
