// A debuginfod that may misbehave: each request is answered by the test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "http/address.h"

namespace plimsoll::symbolizer {

class FakeDebuginfod {
 public:
  // Writes the answer to the socket, which is closed afterwards.
  using Answer = std::function<void(const std::string& path, int socket)>;

  explicit FakeDebuginfod(Answer answer)
      : answer_(std::move(answer)),
        listening_(*http::listen_on("127.0.0.1:0", false)),
        thread_([this] { serve(); }) {}
  FakeDebuginfod(const FakeDebuginfod&) = delete;
  FakeDebuginfod& operator=(const FakeDebuginfod&) = delete;
  ~FakeDebuginfod() {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  std::string url() const { return "http://" + listening_.address; }

  // "debuginfo 0011...", in the order of the requests.
  std::vector<std::string> paths() const {
    const std::lock_guard lock(mutex_);
    return paths_;
  }

  static void send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  static void answer(int socket, int status, std::string_view body, std::string_view headers = {}) {
    send_all(socket, "HTTP/1.1 " + std::to_string(status) +
                         " status\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                         "\r\n" + std::string(headers) + "\r\n" + std::string(body));
  }
  // Until the client gives up.
  static void hang(int socket) {
    char byte = 0;
    while (::recv(socket, &byte, 1, 0) > 0) {
    }
  }
  static void send_without_end(int socket, int status = 200, std::string_view headers = {}) {
    send_all(socket, "HTTP/1.1 " + std::to_string(status) + " status\r\nConnection: close\r\n" +
                         std::string(headers) + "\r\n");
    const std::string piece(64 << 10, 'x');
    while (::send(socket, piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
  }

 private:
  void serve() {
    while (true) {
      pollfd polled[2] = {{listening_.fd.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      ::poll(polled, 2, -1);
      if (polled[1].revents != 0) {
        return;
      }
      const UniqueFd socket(::accept4(listening_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) {
        continue;
      }
      std::string head;
      char byte = 0;
      while (!head.ends_with("\r\n\r\n") && ::recv(socket.get(), &byte, 1, 0) == 1) {
        head.push_back(byte);
      }
      const size_t begin = head.find(' ') + 1;
      const std::string path = head.substr(begin, head.find(' ', begin) - begin);
      {
        const std::lock_guard lock(mutex_);
        paths_.push_back(path);
      }
      answer_(path, socket.get());
    }
  }

  const Answer answer_;
  http::ListeningSocket listening_;
  const UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace plimsoll::symbolizer
