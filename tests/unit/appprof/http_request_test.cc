#include "appprof/http_request.h"

#include <gtest/gtest.h>

namespace plimsoll::appprof {
namespace {

TEST(AppprofRequest, HasPathQueryAndHeaders) {
  const auto request = parse_head(
      "GET /debug/pprof/profile?seconds=5&debug=1 HTTP/1.1\r\nHost: x\r\nAuthorization:  Bearer abc \r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/debug/pprof/profile");
  EXPECT_EQ(request->number("seconds", 30), 5);
  EXPECT_EQ(request->number("absent", 30), 30);
  EXPECT_EQ(request->header("authorization"), "Bearer abc");
}

TEST(AppprofRequest, WhatIsNoRequestIsRefused) {
  for (const char* head :
       {"", "GET", "GET /", "GET / HTTP/2", "GET http://x/ HTTP/1.1", "\r\n\r\n", " / HTTP/1.1"}) {
    EXPECT_FALSE(parse_head(head)) << head;
  }
}

TEST(AppprofRequest, NumbersHaveNineDigitsAndNothingElse) {
  for (const char* text : {"", "-1", "+1", "1s", "1e3", "0x10", "1234567890", " 1"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  EXPECT_EQ(parse_number("999999999"), 999'999'999);
}

TEST(AppprofAddress, LoopbackIsTold) {
  const auto is_loopback = [](const char* text) {
    const auto address = parse_listen_address(text);
    return address && address->is_loopback;
  };
  EXPECT_TRUE(is_loopback("127.0.0.1:0"));
  EXPECT_TRUE(is_loopback("127.1.2.3:6070"));
  EXPECT_TRUE(is_loopback("[::1]:6070"));
  EXPECT_TRUE(is_loopback("unix:/run/x.sock"));
  EXPECT_FALSE(is_loopback("0.0.0.0:6070"));
  EXPECT_FALSE(is_loopback("[::]:6070"));
  EXPECT_FALSE(is_loopback("10.0.0.1:6070"));
  for (const char* text : {"", "localhost:1", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "::1:80",
                           "unix:x", "unix:", "127.0.0.1.evil.example:1"}) {
    EXPECT_FALSE(parse_listen_address(text)) << text;
  }
  EXPECT_FALSE(parse_listen_address("unix:/" + std::string(200, 'x')));
}

TEST(AppprofResponse, SaysItsLengthAndCloses) {
  Response response;
  response.status = 429;
  response.body = "wait\n";
  response.headers["Retry-After"] = "1";
  const std::string text = write_response(response);
  EXPECT_TRUE(text.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
  for (const char* line :
       {"Content-Length: 5\r\n", "Connection: close\r\n", "Retry-After: 1\r\n", "X-Go-Pprof: 1\r\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_TRUE(text.ends_with("\r\n\r\nwait\n"));
}

}  // namespace
}  // namespace plimsoll::appprof
