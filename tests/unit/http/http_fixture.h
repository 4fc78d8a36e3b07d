// A listener under test, and clients of it that may misbehave.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/unique_fd.h"
#include "http/client.h"
#include "http/listener.h"
#include "http/message.h"

namespace plimsoll::http {

inline constexpr int64_t kGuardNs = 20 * kNsPerSecond;

inline Response text_response(std::string body) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

inline Response echo(const Request& request) {
  Response response = text_response(request.body);
  if (const auto type = request.header("content-type"); !type.empty()) {
    response.headers.emplace_back("X-Type", type);
  }
  return response;
}

inline Route route(std::string method, std::string path, std::function<Response(const Request&)> handle,
                   size_t max_body_bytes = 0) {
  const bool is_prefix = path.size() > 1 && path.ends_with('/');
  return {std::move(method), std::move(path), is_prefix, max_body_bytes, std::move(handle)};
}

inline Route long_route(std::string method, std::string path, std::function<Response(const Request&)> handle,
                        size_t max_body_bytes) {
  Route result = route(std::move(method), std::move(path), std::move(handle), max_body_bytes);
  result.threads = Threads::kLong;
  return result;
}

inline std::unique_ptr<Listener> started(std::vector<Route> routes, ListenerOptions options = {}) {
  auto listener = Listener::start(std::move(options), std::move(routes));
  EXPECT_TRUE(listener.has_value()) << listener.error().text();
  return *std::move(listener);
}

inline Client client_of(const Listener& listener, size_t max_response_bytes = 64UL << 20) {
  return Client({.base_url = listener.address(), .max_response_bytes = max_response_bytes});
}

// A client that can misbehave.
class RawConnection {
 public:
  explicit RawConnection(const Listener& listener, const char* from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval guard{.tv_sec = kGuardNs / kNsPerSecond, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::inet_addr(from);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    address.sin_port = ::htons(listener.port());
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  void send(std::string_view bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }

  // Everything until the server closes.
  std::string receive_all() {
    std::string all;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::recv(fd_.get(), buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(size));
    }
    return all;
  }

  // How much came of at least `bytes`, or until the server closes.
  size_t receive(size_t bytes) {
    std::vector<char> buffer(1 << 20);
    size_t received = 0;
    for (ssize_t size = 1; size > 0 && received <= bytes;) {
      size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      received += size > 0 ? static_cast<size_t>(size) : 0;
    }
    return received;
  }

  // The server has ended the connection; what it sent before is left unread.
  bool is_at_its_end() const {
    pollfd polled{fd_.get(), POLLRDHUP, 0};
    return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  void close_with_reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    fd_ = UniqueFd();
  }

 private:
  UniqueFd fd_;
};

inline bool wait_until(const std::function<bool()>& holds) {
  const int64_t deadline_ns = monotonic_now_ns() + kGuardNs;
  while (!holds()) {
    if (monotonic_now_ns() > deadline_ns) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace plimsoll::http
