// Requests and responses: bodies, paths, limits and errors, there and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <random>

#include "tests/unit/http/http_fixture.h"

namespace plimsoll::http {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(Http, CarriesBinaryBodiesThereAndBack) {
  const auto listener = started({route("PUT", "/echo", echo, 4 << 20)});
  Client client = client_of(*listener);
  std::string body(3 << 20, '\0');
  std::mt19937 random(1);
  std::ranges::generate(body, [&] { return static_cast<char>(random()); });
  for (const std::string& sent : {std::string("\0a\r\n\r\n\xff", 7), std::string(), body}) {
    const auto response = client.send("PUT", "/echo", sent, "application/x-protobuf");
    ASSERT_TRUE(response.has_value()) << response.error().text();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->content_type, "text/plain");
    EXPECT_EQ(response->header("x-TYPE"), "application/x-protobuf");
    EXPECT_TRUE(response->body == sent);
  }
  EXPECT_TRUE(wait_until([&] { return listener->buffered_bytes() == 0; }));
}

TEST(Http, DecodesPathAndQueryAndKeepsRepeatsInOrder) {
  Request seen;
  const auto listener = started({route("GET", "/files/", [&](const Request& request) {
    seen = request;
    return text_response("");
  })});
  const std::string path = "/files/" + url_encode("a b/\xC3\xBC") + "?where=" + url_encode("job=~a&b+") +
                           "&limit=5&where=x%20y+z&flag";
  ASSERT_TRUE(client_of(*listener).send("GET", path).has_value());
  EXPECT_EQ(seen.path, "/files/a b/\xC3\xBC");
  EXPECT_THAT(seen.query, ElementsAre(Pair("where", "job=~a&b+"), Pair("limit", "5"), Pair("where", "x y z"),
                                      Pair("flag", "")));
  EXPECT_THAT(seen.peer, StartsWith("127.0.0.1:"));
  EXPECT_THAT(seen.header("HOST"), listener->address());
  EXPECT_THAT(seen.header("absent"), IsEmpty());
}

TEST(Http, PrefersExactPathsAndLongerPrefixes) {
  const auto named = [](std::string name) { return [name](const Request&) { return text_response(name); }; };
  const auto listener = started({route("GET", "/a/", named("short")), route("GET", "/a/b/", named("long")),
                                 route("GET", "/a/b", named("exact")), route("GET", "/", named("root"))});
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("GET", "/a/x")->body, "short");
  EXPECT_EQ(client.send("GET", "/a/b/c")->body, "long");
  EXPECT_EQ(client.send("GET", "/a/b")->body, "exact");
  EXPECT_EQ(client.send("GET", "/")->body, "root");
  EXPECT_EQ(client.send("GET", "/b")->status, 404);
}

TEST(Http, SaysWhoseAddressAnUnknownPathIsMeantFor) {
  const auto listener =
      started({route("GET", "/a", echo)}, {.path_hints = {{"/fleet/", "daemons take the other address"}}});
  Client client = client_of(*listener);
  EXPECT_EQ(error_of(*client.send("PUT", "/fleet/v1/register"), "asking").hint,
            "daemons take the other address");
  EXPECT_EQ(error_of(*client.send("GET", "/fleets"), "asking").hint, "");
}

TEST(Http, AnswersUnknownPathsAndMethodsWithOurErrorDocument) {
  const auto listener = started({route("GET", "/a", echo), route("PUT", "/a", echo, 10)});
  Client client = client_of(*listener);
  const auto absent = client.send("GET", "/absent");
  EXPECT_EQ(absent->status, 404);
  EXPECT_EQ(absent->content_type, "application/json");
  EXPECT_EQ(error_of(*absent, "asking").code, ErrorCode::kNotFound);
  EXPECT_EQ(error_of(*absent, "asking").message, "asking: no such path: /absent");

  const auto wrong_method = client.send("DELETE", "/a");
  EXPECT_EQ(wrong_method->status, 405);
  EXPECT_EQ(wrong_method->header("Allow"), "GET, HEAD, PUT");
  EXPECT_EQ(client.send("POST", "/a", "with a body")->status, 405);

  const auto head = client.send("HEAD", "/a");
  EXPECT_EQ(head->status, 200);
  EXPECT_THAT(head->body, IsEmpty());
}

TEST(Http, RefusesBodiesOverTheLimitOfTheirRoute) {
  std::atomic<int> calls = 0;
  const auto listener = started({route(
      "PUT", "/small",
      [&](const Request& request) {
        ++calls;
        return echo(request);
      },
      1000)});
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("PUT", "/small", std::string(1000, 'a'))->status, 200);
  for (const size_t size : {1001UL, 60'000UL, 10UL << 20}) {
    const auto refused = client.send("PUT", "/small", std::string(size, 'a'));
    ASSERT_TRUE(refused.has_value()) << size << refused.error().text();
    EXPECT_EQ(refused->status, 413);
    EXPECT_EQ(refused->header("Connection"), "close");
    EXPECT_EQ(error_of(*refused, "sending").code, ErrorCode::kTooLarge);
  }
  EXPECT_EQ(calls, 1);
}

TEST(Http, RefusesADeclaredLengthBeforeTheBodyComes) {
  const auto listener = started({route("PUT", "/small", echo, 1000)});
  RawConnection connection(*listener);
  connection.send("PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_THAT(connection.receive_all(), StartsWith("HTTP/1.1 413 "));
}

TEST(Http, RefusesChunkedBodiesThatPassTheLimit) {
  const auto listener = started({route("PUT", "/small", echo, 1000)});
  const std::string head = "PUT /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "200\r\n" + std::string(512, 'a') + "\r\n";

  RawConnection small(*listener);
  small.send(head.substr(0, head.size() - 2) + "Connection: close\r\n\r\n" + chunk + "0\r\n\r\n");
  EXPECT_THAT(small.receive_all(), EndsWith("\r\n\r\n" + std::string(512, 'a')));

  RawConnection large(*listener);
  large.send(head + chunk + chunk + chunk + "0\r\n\r\n");
  EXPECT_THAT(large.receive_all(), StartsWith("HTTP/1.1 413 "));
}

TEST(Http, BoundsTheBytesOfAllBodiesTogether) {
  const auto listener = started({route("PUT", "/echo", echo, 1000)}, {.max_buffered_bytes = 1000});
  RawConnection holder(*listener);
  holder.send("PUT /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 800\r\n\r\n");
  holder.send(std::string(700, 'a'));
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() > 0; }));

  Client client = client_of(*listener);
  const auto refused = client.send("PUT", "/echo", std::string(400, 'b'));
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  EXPECT_EQ(error_of(*refused, "sending").code, ErrorCode::kUnavailable);

  RawConnection chunked(*listener);
  chunked.send("PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n200\r\n" +
               std::string(512, 'c') + "\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.receive_all(), StartsWith("HTTP/1.1 503 "));

  holder.send(std::string(100, 'a'));
  EXPECT_THAT(holder.receive_all(), StartsWith("HTTP/1.1 200 "));
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() == 0; }));
  EXPECT_EQ(client.send("PUT", "/echo", std::string(400, 'b'))->status, 200);
}

TEST(Http, MapsEveryErrorThereAndBack) {
  const std::vector<std::pair<ErrorCode, unsigned>> expected{
      {ErrorCode::kInvalid, 400},  {ErrorCode::kCorrupt, 400},     {ErrorCode::kUnsupported, 415},
      {ErrorCode::kTooLarge, 413}, {ErrorCode::kNotFound, 404},    {ErrorCode::kConflict, 409},
      {ErrorCode::kDenied, 403},   {ErrorCode::kUnavailable, 503}, {ErrorCode::kExhausted, 503},
      {ErrorCode::kIo, 500},
  };
  for (const auto& [code, status] : expected) {
    const Response response = error_response(Error{code, "no \"x\"\n", "events[0]", "do y"});
    EXPECT_EQ(response.status, status);
    const Error error = error_of(response, "trying");
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(error.message, "trying: no \"x\"\n");
    EXPECT_EQ(error.field, "events[0]");
    EXPECT_EQ(error.hint, "do y");
  }
  EXPECT_THAT(error_response(Error{ErrorCode::kIo, "\xff\xfe", {}, {}}).body, HasSubstr("\xEF\xBF\xBD"));
}

TEST(Http, ReadsErrorsOfOthersByTheirStatus) {
  const std::vector<std::pair<unsigned, ErrorCode>> expected{
      {400, ErrorCode::kInvalid},     {401, ErrorCode::kDenied}, {418, ErrorCode::kInvalid},
      {429, ErrorCode::kUnavailable}, {500, ErrorCode::kIo},     {502, ErrorCode::kUnavailable},
  };
  for (const auto& [status, code] : expected) {
    for (const char* body : {"", "<html>\x1b[31m", "[]", "{\"error\": 3}", "{\"error\": {\"message\": 4}}",
                             "{\"error\": {\"code\": 1, \"message\": \"m\"}}"}) {
      EXPECT_EQ(error_of({.status = status, .body = body}, "trying").code, code) << status << body;
    }
  }
  EXPECT_THAT(error_of({.status = 502, .body = "\x1b[31m"}, "trying").message, Not(HasSubstr("\x1b")));
}

// It may be there later: the request was not at fault, and nor was the handler.
TEST(Http, AHandlerWithoutMemoryIsToBeAskedAgain) {
  Route takes_long = route("GET", "/long", [](const Request&) -> Response { throw std::bad_alloc(); });
  takes_long.threads = Threads::kLong;
  const auto listener = started(
      {route("GET", "/short", [](const Request&) -> Response { throw std::bad_alloc(); }), takes_long});
  Client client = client_of(*listener);
  for (const char* path : {"/short", "/long", "/short", "/long"}) {
    const auto answer = client.send("GET", path);
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 503) << path;
    EXPECT_EQ(error_of(*answer, path).code, ErrorCode::kUnavailable) << path;
    EXPECT_EQ(retry_after_s(*answer), 1) << path;
  }
}

TEST(Http, TurnsWhatAHandlerThrowsIntoStatus500) {
  const auto listener =
      started({route("GET", "/throw", [](const Request&) -> Response { throw std::logic_error("no"); }),
               route("GET", "/strange", [](const Request&) -> Response { throw 3; }),
               route("GET", "/status", [](const Request&) { return Response{.status = 99}; }),
               route("GET", "/header", [](const Request&) {
                 Response response = text_response("fine");
                 response.headers.emplace_back("X-Split", "a\r\nX-Injected: b");
                 return response;
               })});
  Client client = client_of(*listener);
  for (const char* path : {"/throw", "/strange", "/status"}) {
    EXPECT_EQ(error_of(*client.send("GET", path), path).code, ErrorCode::kIo) << path;
  }
  const auto split = client.send("GET", "/header");
  EXPECT_EQ(split->body, "fine");
  EXPECT_THAT(split->header("X-Injected"), IsEmpty());
}

struct RetryCase {
  const char* header;
  int64_t seconds;
};

TEST(RetryAfter, IsTheSecondsThatAnAnswerAsksFor) {
  for (const RetryCase& c : {
           RetryCase{"120", 120},
           RetryCase{"0", 0},
           RetryCase{"86401", 86'400},
           RetryCase{"99999999999999999999", 0},
           RetryCase{"-5", 0},
           RetryCase{"Wed, 21 Oct 2015 07:28:00 GMT", 0},
           RetryCase{"12 s", 0},
           RetryCase{"", 0},
       }) {
    Response response = text_response("");
    response.headers.emplace_back("retry-after", c.header);
    EXPECT_EQ(retry_after_s(response), c.seconds) << c.header;
  }
  EXPECT_EQ(retry_after_s(text_response("")), 0) << "no such header";
}

}  // namespace
}  // namespace plimsoll::http
