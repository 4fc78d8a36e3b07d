// One request to an HTTP server on a Unix socket, by system calls alone: also for programs that ask themselves, which link no client.
#pragma once

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

namespace plimsoll::testing {

// Head and body; empty where nothing answered.
inline std::string fetch_unix(const std::string& socket_path, const std::string& target) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, socket_path.c_str(), sizeof(where.sun_path) - 1);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  if (connection < 0) {
    return answer;
  }
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0) {
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: here\r\n\r\n";
    ::send(connection, request.data(), request.size(), MSG_NOSIGNAL);
    std::array<char, 4096> part{};
    for (ssize_t size = 1; size != 0 && (size > 0 || errno == EINTR);) {
      size = ::recv(connection, part.data(), part.size(), 0);
      answer.append(part.data(), size > 0 ? static_cast<size_t>(size) : 0);
    }
  }
  ::close(connection);
  return answer;
}

// "HTTP/1.1 200 ...": 200. 0 where nothing answered.
inline int status_of(const std::string& answer) {
  constexpr size_t kVersionSize = 9;
  return answer.size() > kVersionSize + 3 ? std::atoi(answer.c_str() + kVersionSize) : 0;
}

}  // namespace plimsoll::testing
