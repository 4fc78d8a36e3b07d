// What stands between a client and its server, and loses requests and answers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "http/client.h"
#include "http/listener.h"

namespace plimsoll::testing {

// Any thread.
class FaultyProxy {
 public:
  // `on_failure` is called by the thread that loses a request or an answer.
  explicit FaultyProxy(
      std::string server_url, std::function<void()> on_failure = [] {})
      : server_url_(std::move(server_url)), on_failure_(std::move(on_failure)) {
    http::Route route{.method = "POST",
                      .path = "/",
                      .max_body_bytes = 64UL << 20,
                      .handle = [this](const http::Request& request) { return pass_on(request); }};
    auto started = http::Listener::start({.head_rules = {.allow_simple_types = true}}, {std::move(route)});
    EXPECT_TRUE(started) << started.error().text();
    listener_ = started ? std::move(*started) : nullptr;
  }

  std::string url() const { return "http://" + listener_->address(); }

  // The request of number `step` / 2, from now on, is lost on its way to the server, or its answer on the way back where `step` is odd.
  void fail_at(uint64_t step) {
    steps_ = 0;
    failing_step_ = step;
  }
  void stop_failing() { failing_step_ = kNone; }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  http::Response lose() const {
    on_failure_();
    return lost();
  }

  static http::Response lost() {
    return {.status = 502, .content_type = "text/plain", .body = "lost", .headers = {}};
  }

  http::Response pass_on(const http::Request& request) const {
    const uint64_t step = steps_.fetch_add(2);
    if (step == failing_step_) {
      return lose();
    }
    std::string path = "/";
    for (const auto& [name, value] : request.query) {
      path += (path.size() == 1 ? "?" : "&") + http::url_encode(name) + "=" + http::url_encode(value);
    }
    http::Fields credentials;
    for (const std::string name : {"X-ClickHouse-User", "X-ClickHouse-Key"}) {
      credentials.emplace_back(name, request.header(name));
    }
    http::Client client({.base_url = server_url_});
    auto answer = client.send("POST", path, request.body, request.header("Content-Type"), credentials);
    if (step + 1 == failing_step_) {
      return lose();
    }
    if (!answer) {
      return lost();
    }
    return {.status = answer->status,
            .content_type = "text/plain",
            .body = std::move(answer->body),
            .headers = {}};
  }

  const std::string server_url_;
  const std::function<void()> on_failure_;
  mutable std::atomic<uint64_t> steps_ = 0;
  std::atomic<uint64_t> failing_step_ = kNone;
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace plimsoll::testing
