// A server that answers each statement as a test says.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "http/listener.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::testing {

class AnsweringServer {
 public:
  // One call at a time, by threads of the listener.
  using Answer = std::function<std::string(std::string_view sql)>;

  explicit AnsweringServer(Answer answer) : answer_(std::move(answer)) {
    http::Route route{.method = "POST",
                      .path = "/",
                      .max_body_bytes = 1UL << 20,
                      .handle = [this](const http::Request& request) { return answer_to(request); }};
    auto started = http::Listener::start({.head_rules = {.allow_simple_types = true}}, {std::move(route)});
    EXPECT_TRUE(started) << started.error().text();
    listener_ = started ? std::move(*started) : nullptr;
  }

  // "127.0.0.1:40312"
  std::string address() const { return listener_->address(); }

  std::shared_ptr<store::clickhouse::ConnectionPool> connections() const {
    return std::make_shared<store::clickhouse::ConnectionPool>(store::clickhouse::ConnectionOptions{
        .base_url = "http://" + address(), .database = "fleet", .max_attempts = 1, .first_pause_ns = 1000});
  }

 private:
  // A statement with tables stands in the URL.
  http::Response answer_to(const http::Request& request) {
    std::string sql = request.body;
    for (const auto& [name, value] : request.query) {
      sql = name == "query" ? value : sql;
    }
    const std::lock_guard lock(mutex_);
    return {.status = 200, .content_type = "text/plain", .body = answer_(sql), .headers = {}};
  }

  std::mutex mutex_;
  const Answer answer_;
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace plimsoll::testing
