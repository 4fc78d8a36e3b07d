// Bodies that a route takes while they arrive, and answers that are parts of files: neither is in memory as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/file.h"
#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http::body_sink_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Counts what it takes, and itself.
class CountingSink : public BodySink {
 public:
  CountingSink(std::atomic<int>& alive, size_t max_bytes) : alive_(alive), max_bytes_(max_bytes) { ++alive_; }
  ~CountingSink() override { --alive_; }

  Status take(Bytes piece) override {
    bytes_ += piece.size();
    largest_ = std::max(largest_, piece.size());
    return bytes_ <= max_bytes_ ? Status() : fail(ErrorCode::kUnavailable, "the disk is full");
  }
  size_t bytes() const { return bytes_; }
  size_t largest() const { return largest_; }

 private:
  std::atomic<int>& alive_;
  const size_t max_bytes_;
  size_t bytes_ = 0;
  size_t largest_ = 0;
};

class BodySinkTest : public ::testing::Test {
 protected:
  Route sinking_route(Threads threads) {
    Route sinking = route(
        "PUT", "/sink",
        [](const Request& request) {
          const auto* const sink = static_cast<const CountingSink*>(request.sink.get());
          EXPECT_EQ(request.body, "");
          return text_response(
              sink == nullptr ? "nothing" : fmt::format("{} {}", sink->bytes(), sink->largest() < (1 << 20)));
        },
        8 << 20);
    sinking.threads = threads;
    sinking.begin_body = [this](const Request& request) -> Result<std::shared_ptr<BodySink>> {
      if (!request.header("X-Refuse").empty()) {
        return fail(ErrorCode::kDenied, "not this one");
      }
      return std::make_shared<CountingSink>(alive_, room_bytes_);
    };
    return sinking;
  }

  std::atomic<int> alive_ = 0;
  size_t room_bytes_ = 16 << 20;
};

TEST_F(BodySinkTest, TakesBodiesThatAreLargerThanWhatMayBeBuffered) {
  for (const Threads threads : {Threads::kConnections, Threads::kLong}) {
    const auto listener = started({sinking_route(threads)}, {.max_buffered_bytes = 64 << 10});
    Client client = client_of(*listener);
    const auto answer = client.send("PUT", "/sink", std::string(4 << 20, 'x'), "application/octet-stream");
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->body, "4194304 true");
    EXPECT_EQ(client.send("PUT", "/sink", "", "application/octet-stream")->body, "nothing");
    EXPECT_EQ(listener->buffered_bytes(), 0);
  }
  EXPECT_EQ(alive_, 0);
}

TEST_F(BodySinkTest, TheSinksErrorIsTheAnswer) {
  const auto listener = started({sinking_route(Threads::kLong)});
  Client client = client_of(*listener);
  const auto refused = client.send("PUT", "/sink", "x", "application/octet-stream", {{"X-Refuse", "yes"}});
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_EQ(refused->status, 403);
  room_bytes_ = 10;
  const auto full = client.send("PUT", "/sink", std::string(1000, 'x'), "application/octet-stream");
  ASSERT_TRUE(full) << full.error().text();
  EXPECT_EQ(full->status, 503);
  EXPECT_THAT(full->body, HasSubstr("the disk is full"));
  const auto large = client.send("PUT", "/sink", std::string((8 << 20) + 1, 'x'), "application/octet-stream");
  ASSERT_TRUE(large) << large.error().text();
  EXPECT_EQ(large->status, 413);
}

TEST_F(BodySinkTest, AClientThatAsksFirstIsRefusedBeforeItSends) {
  const auto listener = started({sinking_route(Threads::kLong)});
  RawConnection connection(*listener);
  connection.send(
      "PUT /sink HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4194304\r\nExpect: 100-continue\r\n"
      "X-Refuse: yes\r\n\r\n");
  const std::string answer = connection.receive_all();
  EXPECT_THAT(answer, HasSubstr(" 403 "));
  EXPECT_THAT(answer, Not(HasSubstr("100 Continue")));
  EXPECT_EQ(alive_, 0);
}

TEST_F(BodySinkTest, ABodyThatTakesTooLongIsRefused) {
  Route impatient = sinking_route(Threads::kLong);
  impatient.max_body_ns = 0;
  const auto listener = started({impatient});
  const auto late =
      client_of(*listener).send("PUT", "/sink", std::string(1000, 'x'), "application/octet-stream");
  ASSERT_TRUE(late) << late.error().text();
  EXPECT_EQ(late->status, 503);
  EXPECT_THAT(late->body, HasSubstr("the body took longer than 0 s"));
  EXPECT_EQ(alive_, 0);
}

TEST_F(BodySinkTest, AClientThatGoesLeavesNoSink) {
  const auto listener = started({sinking_route(Threads::kLong)});
  {
    RawConnection connection(*listener);
    connection.send("PUT /sink HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nsome");
    EXPECT_TRUE(wait_until([this] { return alive_ == 1; }));
    connection.close_with_reset();
  }
  EXPECT_TRUE(wait_until([this] { return alive_ == 0; }));
}

TEST(FilePart, IsSentAndNotCountedAsUnread) {
  auto file = *unnamed_file(::testing::TempDir());
  const std::string content = "0123456789" + std::string(1 << 20, 'x');
  ASSERT_EQ(::write(file.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
  const auto fd = std::make_shared<const UniqueFd>(std::move(file));
  const auto part = [&fd](uint64_t offset, uint64_t bytes) {
    return [fd, offset, bytes](const Request&) {
      Response response;
      response.content_type = "application/octet-stream";
      response.file = FilePart{.fd = fd, .offset = offset, .bytes = bytes};
      return response;
    };
  };
  const auto listener = started({route("GET", "/all", part(0, content.size())),
                                 route("GET", "/some", part(3, 4)), route("GET", "/none", part(3, 0))},
                                {.max_unread_bytes = 64 << 10});
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("GET", "/all")->body, content);
  EXPECT_EQ(client.send("GET", "/some")->body, "3456");
  EXPECT_EQ(client.send("GET", "/none")->body, "");
  const auto head = client.send("HEAD", "/some");
  ASSERT_TRUE(head) << head.error().text();
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->header("Content-Length"), "4");
  EXPECT_EQ(listener->unread_bytes(), 0);
}

}  // namespace
}  // namespace plimsoll::http::body_sink_test
