// A client whose connections are opened by its caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "http/client.h"

namespace plimsoll::http::opened_connections_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The two ends of a connection.
std::pair<UniqueFd, UniqueFd> connected_pair() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The head of a request; then the response is sent.
std::string serve_once(const UniqueFd& end, std::string_view response) {
  std::string head;
  std::array<char, 4096> buffer{};
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = ::read(end.get(), buffer.data(), buffer.size());
    if (size <= 0) {
      break;
    }
    head.append(buffer.data(), static_cast<size_t>(size));
  }
  EXPECT_EQ(::send(end.get(), response.data(), response.size(), MSG_NOSIGNAL), response.size());
  return head;
}

TEST(OpenedConnections, ARequestGoesThroughTheConnectionOfTheCaller) {
  auto ends = connected_pair();
  std::string head;
  std::thread server([&] {
    head = serve_once(ends.second, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
  });
  int opened = 0;
  Client client({.base_url = "http://127.0.0.1", .reuses_connections = false, .open_connection = [&] {
                   ++opened;
                   return Result<UniqueFd>(std::move(ends.first));
                 }});
  const auto response = client.send("GET", "/path");
  ends.first = UniqueFd();  // where it was not taken
  server.join();
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->body, "body");
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(head, StartsWith("GET /path HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("Host: 127.0.0.1\r\n"));
}

TEST(OpenedConnections, ARefusalOfTheCallerIsTheError) {
  Client client({.base_url = "http://127.0.0.1", .open_connection = [] {
                   return Result<UniqueFd>(fail(ErrorCode::kDenied, "of another process"));
                 }});
  const auto response = client.send("GET", "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kDenied);
  EXPECT_EQ(response.error().message, "of another process");
}

TEST(OpenedConnections, NoProxyIsAsked) {
  ASSERT_EQ(::setenv("http_proxy", "http://127.0.0.1:9", 1), 0);
  auto ends = connected_pair();
  std::string head;
  std::thread server([&] { head = serve_once(ends.second, "HTTP/1.1 204 No Content\r\n\r\n"); });
  // No address of loopback, for which no proxy is ever asked.
  Client client({.base_url = "http://0.0.0.0:80", .reuses_connections = false, .open_connection = [&] {
                   return Result<UniqueFd>(std::move(ends.first));
                 }});
  const auto response = client.send("GET", "/path");
  ends.first = UniqueFd();  // where it was not taken
  server.join();
  ::unsetenv("http_proxy");
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->status, 204);
  EXPECT_THAT(head, StartsWith("GET /path ")) << "as to the host itself";
}

}  // namespace
}  // namespace plimsoll::http::opened_connections_test
