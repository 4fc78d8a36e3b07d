// Bodies that a client neither sends from memory nor receives into it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http::streamed_bodies_test {
namespace {

using ::testing::HasSubstr;

class Collected : public BodySink {
 public:
  explicit Collected(size_t room_bytes = SIZE_MAX) : room_bytes_(room_bytes) {}
  Status take(Bytes piece) override {
    content.append(as_text(piece));
    return content.size() <= room_bytes_ ? Status() : fail(ErrorCode::kUnavailable, "the disk is full");
  }
  std::string content;

 private:
  const size_t room_bytes_;
};

// So many 'x', or an error in place of the rest.
class Letters : public BodySource {
 public:
  explicit Letters(size_t bytes, size_t fails_after = SIZE_MAX) : left_(bytes), fails_after_(fails_after) {}
  Result<size_t> give(std::span<char> room) override {
    if (given_ >= fails_after_) {
      return fail(ErrorCode::kIo, "the file cannot be read");
    }
    const size_t bytes = std::min({room.size(), left_, size_t{1000}});
    std::memset(room.data(), 'x', bytes);
    left_ -= bytes;
    given_ += bytes;
    return bytes;
  }

 private:
  size_t left_;
  const size_t fails_after_;
  size_t given_ = 0;
};

TEST(StreamedBodies, AreReceivedPieceByPiece) {
  const std::string body(3 << 20, 'x');
  const auto listener = started({route("GET", "/large", [&](const Request&) { return text_response(body); }),
                                 route("GET", "/none", [](const Request&) {
                                   Response response = text_response("there is none");
                                   response.status = 404;
                                   return response;
                                 })});
  Client client = client_of(*listener);
  Collected sink;
  const auto large = client.receive("/large", sink);
  ASSERT_TRUE(large) << large.error().text();
  EXPECT_EQ(large->body, "");
  EXPECT_EQ(sink.content, body);
  Collected unused;
  const auto none = client.receive("/none", unused);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_EQ(none->status, 404);
  EXPECT_EQ(none->body, "there is none");
  EXPECT_EQ(unused.content, "");
}

TEST(StreamedBodies, EndWithTheSinkAndWithTheLimit) {
  const auto listener = started(
      {route("GET", "/large", [](const Request&) { return text_response(std::string(3 << 20, 'x')); })});
  Client client = client_of(*listener, 1 << 20);
  Collected full(1000);
  EXPECT_EQ(client.receive("/large", full).error().message, "the disk is full");
  Collected sink;
  EXPECT_EQ(client.receive("/large", sink).error().code, ErrorCode::kTooLarge);
  EXPECT_LE(sink.content.size(), 1U << 20);
}

TEST(StreamedBodies, WhatDoesNotGoToTheSinkIsSmallWhateverTheLimit) {
  const auto listener = started({route("GET", "/none", [](const Request& request) {
    Response response =
        text_response(std::string(kMaxBytesBesideSink + (request.header("X-More").empty() ? 0 : 1), 'x'));
    response.status = 404;
    return response;
  })});
  Client client = client_of(*listener, 1 << 30);
  Collected sink;
  const auto largest = client.receive("/none", sink);
  ASSERT_TRUE(largest) << largest.error().text();
  EXPECT_EQ(largest->body.size(), kMaxBytesBesideSink);
  const auto larger = client.receive("/none", sink, {{"X-More", "yes"}});
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(sink.content, "");
}

TEST(StreamedBodies, AreSentWithoutASizeThatIsKnown) {
  const auto listener = started({route("PUT", "/take", echo, 8 << 20)});
  Client client = client_of(*listener);
  Letters letters(3 << 20);
  const auto answer = client.send_stream("/take", letters, {.further_headers = {{"X-More", "yes"}}});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->body, std::string(3 << 20, 'x'));
  EXPECT_EQ(answer->header("X-Type"), "application/octet-stream");
  EXPECT_EQ(client.send("PUT", "/take", "after it", "application/octet-stream")->body, "after it");
}

TEST(StreamedBodies, AreRefusedAndMayFail) {
  const auto listener = started({route("PUT", "/take", echo, 1 << 20)});
  Client client = client_of(*listener);
  Letters large(16 << 20);
  const auto refused = client.send_stream("/take", large, {});
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_EQ(refused->status, 413);
  Letters broken(1 << 19, 5000);
  EXPECT_EQ(client.send_stream("/take", broken, {}).error().message, "the file cannot be read");
}

}  // namespace
}  // namespace plimsoll::http::streamed_bodies_test
