#include "http/head_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::http {
namespace {

using ::testing::HasSubstr;

struct Head {
  std::string method = "GET";
  std::string path = "/api/top";
  Fields headers = {{"Host", "127.0.0.1:7070"}};
  std::string version = "HTTP/1.1";
  HeadRules rules = {.hosts = std::vector<std::string>{"perf.example"}};
};

// The status, 0 for a head that is not refused.
unsigned status_of(const Head& head) {
  const Request request{
      .method = head.method, .path = head.path, .query = {}, .headers = head.headers, .body = {}, .peer = {}};
  const auto refused = refusal_of_head(request, head.version, head.rules);
  return refused ? refused->status : 0;
}

TEST(HeadCheck, LengthsThatDifferAreRefused) {
  const auto with = [](Fields more) {
    more.emplace_back("Host", "localhost");
    return status_of({.method = "PUT", .headers = std::move(more)});
  };
  EXPECT_EQ(with({{"Content-Length", "5"}}), 0);
  EXPECT_EQ(with({{"Content-Length", "5"}, {"content-length", "5"}}), 0);
  EXPECT_EQ(with({{"Content-Length", "5"}, {"Content-Length", "6"}}), 400);
  EXPECT_EQ(with({{"Content-Length", "+5"}}), 400);
  EXPECT_EQ(with({{"Content-Length", ""}}), 400);
  EXPECT_EQ(with({{"Content-Length", "5, 5"}}), 400);
  EXPECT_EQ(with({{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}), 400);
  EXPECT_EQ(with({{"Transfer-Encoding", "chunked"}}), 0);
}

TEST(HeadCheck, AHostIsNamedOnce) {
  EXPECT_EQ(status_of({.headers = {}}), 400);
  EXPECT_EQ(status_of({.headers = {}, .version = "HTTP/1.0"}), 0);
  EXPECT_EQ(status_of({.headers = {{"Host", "localhost"}, {"Host", "localhost"}}}), 400);
}

TEST(HeadCheck, ANameThatIsNotOursIsRefusedWhereNobodyIsAsked) {
  for (const char* host : {"localhost", "LOCALHOST:7070", "a.localhost:1", "127.0.0.1", "10.1.2.3:80",
                           "[::1]:7070", "[::1]", "perf.example", "PERF.example:7070"}) {
    EXPECT_EQ(status_of({.headers = {{"Host", host}}}), 0) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example",
                           "1.2.3", "", "[::1", "[evil.example]", "xperf.example", ".localhost"}) {
    EXPECT_EQ(status_of({.headers = {{"Host", host}}}), 403) << host;
    EXPECT_EQ(status_of({.headers = {{"Host", host}}, .rules = {}}), 0)
        << "where tokens are asked for, any name will do";
  }
}

TEST(HeadCheck, OtherSitesPagesChangeNothing) {
  const auto from = [](const std::string& method, Fields more) {
    more.emplace_back("Host", "localhost:7070");
    return status_of({.method = method, .headers = std::move(more)});
  };
  EXPECT_EQ(from("POST", {}), 0) << "no browser";
  EXPECT_EQ(from("POST", {{"Origin", "http://localhost:7070"}}), 0);
  EXPECT_EQ(from("POST", {{"Origin", "http://localhost:7071"}}), 403);
  EXPECT_EQ(from("POST", {{"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(from("DELETE", {{"Origin", "null"}}), 403);
  EXPECT_EQ(from("PUT", {{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(from("PUT", {{"Sec-Fetch-Site", "same-origin"}}), 0);
  EXPECT_EQ(from("GET", {{"Origin", "https://evil.example"}}), 0) << "its answer is not shown to that page";
}

TEST(HeadCheck, BodiesThatAnyPageMaySendAreNotTaken) {
  const auto of_type = [](const std::string& method, const std::string& type) {
    return status_of({.method = method, .headers = {{"Host", "localhost"}, {"Content-Type", type}}});
  };
  EXPECT_EQ(of_type("POST", "text/plain"), 415);
  EXPECT_EQ(of_type("POST", "Text/Plain; charset=utf-8"), 415);
  EXPECT_EQ(of_type("PUT", "application/x-www-form-urlencoded"), 415);
  EXPECT_EQ(of_type("POST", "multipart/form-data; boundary=x"), 415);
  EXPECT_EQ(of_type("POST", "application/json"), 0);
  EXPECT_EQ(of_type("POST", ""), 0);
  EXPECT_EQ(of_type("GET", "text/plain"), 0);
}

TEST(HeadCheck, AZeroByteInThePathIsRefused) {
  EXPECT_EQ(status_of({.path = "/api/top%00/x"}), 400);
}

}  // namespace
}  // namespace plimsoll::http
