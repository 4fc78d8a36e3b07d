// The server as a client sees it, over sockets.
#include "appprof/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>

#include "tests/temporary_directory.h"

namespace plimsoll::appprof {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

constexpr uint32_t kMany = 100'000;

// Answers with what it was asked.
Response echo(const Request& request, const RequestTime&) {
  Response response;
  response.body = request.method + " " + request.path + " [" + request.body + "]";
  return response;
}

int connect_to(const HttpServer& server) {
  const std::string& address = server.address();
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  ::inet_pton(AF_INET, "127.0.0.1", &where.sin_addr);
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
  return connection;
}

std::string answer_to(const HttpServer& server, const std::string& request) {
  const int connection = connect_to(server);
  EXPECT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL), request.size());
  ::shutdown(connection, SHUT_WR);
  std::string answer;
  std::array<char, 4096> part{};
  for (ssize_t size = 1; size > 0;) {
    size = ::recv(connection, part.data(), part.size(), 0);
    answer.append(part.data(), size > 0 ? static_cast<size_t>(size) : 0);
  }
  ::close(connection);
  return answer;
}

TEST(AppprofServer, ABodyIsAsLongAsItsHeadSays) {
  HttpServer server("", kMany, &echo);
  ASSERT_EQ(server.start(*parse_listen_address("127.0.0.1:0")), "");
  EXPECT_THAT(answer_to(server, "POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcdef"),
              HasSubstr("POST /x [abc]"));
  EXPECT_THAT(answer_to(server, "POST /x HTTP/1.1\r\n\r\nabcdef"), HasSubstr("POST /x []"));
  EXPECT_THAT(answer_to(server, "POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\nabcdef"),
              HasSubstr("shorter than its length"));
  EXPECT_THAT(answer_to(server, "POST /x HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer_to(server, "POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer_to(server, "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

TEST(AppprofServer, PagesOfBrowsersAreRefused) {
  HttpServer server("", kMany, &echo);
  ASSERT_EQ(server.start(*parse_listen_address("127.0.0.1:0")), "");
  const auto status = [&](const std::string& headers) {
    return answer_to(server, "GET / HTTP/1.1\r\n" + headers + "\r\n").substr(9, 3);
  };
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1:80", "10.0.0.1", "[::1]:80"}) {
    EXPECT_EQ(status("Host: " + std::string(host) + "\r\n"), "200") << host;
  }
  EXPECT_EQ(status(""), "200");
  for (const char* host :
       {"evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[evil]", "["}) {
    EXPECT_EQ(status("Host: " + std::string(host) + "\r\n"), "403") << host;
  }
  EXPECT_EQ(status("Host: localhost\r\nOrigin: http://evil.example\r\n"), "403");
  EXPECT_EQ(status("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"), "403") << "an image of a page";
  EXPECT_EQ(status("Host: localhost\r\nSec-Fetch-Site: none\r\n"), "200") << "typed by the user";
}

TEST(AppprofServer, ATokenIsRequiredInEachRequest) {
  HttpServer server("a secret of some length", kMany, &echo);
  ASSERT_EQ(server.start(*parse_listen_address("127.0.0.1:0")), "");
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.1\r\nAuthorization: Bearer a secret of some lengtH\r\n\r\n"),
              StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(
      answer_to(server, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a secret of some length\r\n\r\n"),
      StartsWith("HTTP/1.1 200 "));
}

TEST(AppprofServer, StopDoesNotWaitForAClientThatDoesNotRead) {
  HttpServer server("", kMany, [](const Request&, const RequestTime&) {
    Response response;
    response.body.assign(size_t{16} << 20, 'x');
    return response;
  });
  ASSERT_EQ(server.start(*parse_listen_address("127.0.0.1:0")), "");
  const int connection = connect_to(server);
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL), request.size());
  char first = 0;
  ASSERT_EQ(::recv(connection, &first, 1, 0), 1);  // it is being answered
  server.stop();
  std::string part(1 << 20, '\0');
  size_t received = 0;
  for (ssize_t size = 1; size > 0; received += static_cast<size_t>(std::max<ssize_t>(size, 0))) {
    size = ::recv(connection, part.data(), part.size(), 0);
  }
  EXPECT_LT(received, size_t{16} << 20) << "it was cut";
  ::close(connection);
}

// As daemons close all descriptors at their start, and open others.
// A new process of the program has taken the path while the old one still ran.
TEST(AppprofServer, ASocketThatIsAnothersIsNotRemoved) {
  const TemporaryDirectory folder;
  const std::string path = folder / "s";
  HttpServer old("", kMany, &echo);
  ASSERT_EQ(old.start(*parse_listen_address("unix:" + path)), "");
  std::filesystem::remove(path);
  HttpServer replacement("", kMany, &echo);
  ASSERT_EQ(replacement.start(*parse_listen_address("unix:" + path)), "");
  old.stop();
  EXPECT_TRUE(std::filesystem::exists(path));
  replacement.stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(AppprofServer, DescriptorsThatWereClosedBelowItAreNotTouched) {
  const TemporaryDirectory folder;
  const pid_t child = ::fork();
  if (child == 0) {
    HttpServer server("", kMany, &echo);
    if (!server.start(*parse_listen_address("127.0.0.1:0")).empty()) {
      ::_exit(4);
    }
    ::close_range(3, ~0U, 0);
    std::vector<int> files;
    for (int i = 0; i < 16; ++i) {
      files.push_back(::open((folder / std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600));
    }
    server.stop();
    for (const int file : files) {
      if (::fcntl(file, F_GETFD) < 0) {
        ::_exit(5);
      }
    }
    ::_exit(3);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(std::filesystem::file_size(folder / std::to_string(i)), 0);
  }
}

// A pair of sockets of the program takes the number of the connection while that is answered: nothing is sent there.
TEST(AppprofServer, AConnectionThatWasClosedBelowItIsNotAnswered) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::array<int, 2> pair{-1, -1};
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data());
    std::atomic<bool> is_answered{false};
    HttpServer server("", kMany, [&](const Request&, const RequestTime&) {
      for (int descriptor = 3; descriptor < 64; ++descriptor) {
        sockaddr_storage peer{};
        socklen_t size = sizeof(peer);
        sockaddr_in own{};
        socklen_t own_size = sizeof(own);
        if (descriptor != pair[0] && descriptor != pair[1] &&
            ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
            ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
            ntohs(own.sin_port) == std::stoi(server.address().substr(server.address().rfind(':') + 1))) {
          ::dup2(pair[0], descriptor);
        }
      }
      is_answered = true;
      return Response{};
    });
    if (!server.start(*parse_listen_address("127.0.0.1:0")).empty()) {
      ::_exit(4);
    }
    answer_to(server, "GET / HTTP/1.1\r\n\r\n");
    server.stop();
    char byte = 0;
    ::_exit(is_answered && ::recv(pair[1], &byte, 1, 0) < 0 && errno == EAGAIN ? 3 : 5);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace plimsoll::appprof
