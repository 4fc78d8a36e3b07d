// An application that serves profiles, in the test's own process.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "http/listener.h"

namespace plimsoll::scrape {

// A process's announcement, in a file of that folder.
inline void announce_process(const std::string& folder, uint32_t pid, int64_t started_ns,
                             const std::string& address) {
  std::ofstream(folder + "/" + std::to_string(pid) + ".json")
      << fmt::format(R"({{"format": 1, "pid": {}, "start_ticks": {}, "address": "{}", "kinds": ["heap"]}})",
                     pid, started_ns * ::sysconf(_SC_CLK_TCK) / 1'000'000'000, address);
}

// An application that answers with what a test says, by the number of the request from 0.
class Application {
 public:
  explicit Application(std::function<http::Response(int)> answer, const std::string& path = "/profile")
      : listener_(*http::Listener::start(
            {.address = "127.0.0.1:0"},
            {{.method = "GET", .path = path, .handle = [this, answer](const http::Request&) {
                return answer(requests_++);
              }}})) {}

  std::string address_url(const std::string& path) const { return "http://" + listener_->address() + path; }
  std::string url() const { return "http://" + listener_->address() + "/profile"; }
  void announce(const std::string& folder, uint32_t pid, int64_t started_ns) const {
    announce_process(folder, pid, started_ns, "http://" + listener_->address());
  }
  // ":8080"
  std::string port() const { return listener_->address().substr(listener_->address().rfind(':')); }
  int requests() const { return requests_; }
  std::string name() const { return listener_->address() + "/profile"; }

 private:
  std::atomic<int> requests_ = 0;
  std::unique_ptr<http::Listener> listener_;
};

// Bound to a path, and listening unless the test calls listen() itself.
inline UniqueFd unix_socket(const std::string& path, bool listens = true, int backlog = 16) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_LT(path.size(), sizeof(address.sun_path)) << path;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << path;
  if (listens) {
    EXPECT_EQ(::listen(socket.get(), backlog), 0) << path;
  }
  return socket;
}

// An application on a Unix socket, that answers one connection after the other with one response each.
class UnixApplication {
 public:
  UnixApplication(const std::string& path, std::function<http::Response(int)> answer)
      : socket_(unix_socket(path)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        thread_([this, how = std::move(answer)] { serve(how); }) {}
  UnixApplication(const UnixApplication&) = delete;
  UnixApplication& operator=(const UnixApplication&) = delete;
  ~UnixApplication() {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  int requests() const { return requests_; }

 private:
  void serve(const std::function<http::Response(int)>& answer) {
    for (;;) {
      std::array<pollfd, 2> polled{{{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      if (polled[1].revents != 0) {
        return;
      }
      const UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string head;
      std::array<char, 4096> buffer{};
      ssize_t size = 1;
      while (size > 0 && head.find("\r\n\r\n") == std::string::npos) {
        size = ::read(connection.get(), buffer.data(), buffer.size());
        head.append(buffer.data(), size > 0 ? static_cast<size_t>(size) : 0);
      }
      if (size <= 0) {
        continue;  // a client that was refused before it asked
      }
      const http::Response response = answer(requests_++);
      const std::string bytes =
          fmt::format("HTTP/1.1 {} Said\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                      response.status, response.body.size(), response.body);
      // A client that stops meanwhile does not take it.
      [[maybe_unused]] const ssize_t sent =
          ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }

  std::atomic<int> requests_ = 0;
  const UniqueFd socket_;
  const UniqueFd stop_;
  std::thread thread_;
};

inline http::Response text(std::string body, unsigned status = 200) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

}  // namespace plimsoll::scrape
