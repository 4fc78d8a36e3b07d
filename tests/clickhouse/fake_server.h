// A server that gives the answers that a test wrote down, and keeps what it was asked.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/listener.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::testing {

inline http::Response answer(unsigned status, std::string body) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

// Answers each statement with the next of its answers, the last one again and again.
class FakeServer {
 public:
  explicit FakeServer(std::vector<http::Response> answers) : answers_(std::move(answers)) {
    http::Route route{.method = "POST",
                      .path = "/",
                      .max_body_bytes = 1UL << 20,
                      .handle = [this](const http::Request& request) { return next(request); }};
    auto started = http::Listener::start({.head_rules = {.allow_simple_types = true}}, {std::move(route)});
    EXPECT_TRUE(started) << started.error().text();
    listener_ = started ? std::move(*started) : nullptr;
  }

  std::string url() const { return "http://" + listener_->address(); }

  store::clickhouse::Connection connection() const {
    return store::clickhouse::Connection({.base_url = url(),
                                          .database = "fleet",
                                          .user = "writer",
                                          .password = "secret",
                                          .timeout_ms = 20'000,
                                          .max_response_bytes = 1000,
                                          .max_attempts = 3,
                                          .first_pause_ns = 1000});
  }

  // The listener has answered them all.
  const std::vector<http::Request>& requests() const { return requests_; }

 private:
  http::Response next(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    return answers_[std::min(requests_.size(), answers_.size()) - 1];
  }

  std::mutex mutex_;
  const std::vector<http::Response> answers_;
  std::vector<http::Request> requests_;  // protected by mutex_
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace plimsoll::testing
