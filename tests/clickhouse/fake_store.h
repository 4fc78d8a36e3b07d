// A ClickHouse that keeps what a sink writes, as far as the sink asks for it again: sessions and marks. Inserts fail as a test says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/listener.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::testing {

// What it is told is changed while no request is under way.
class FakeStore {
 public:
  explicit FakeStore(std::string version) : version_(std::move(version)) {
    http::Route route{.method = "POST",
                      .path = "/",
                      .max_body_bytes = 1UL << 20,
                      .handle = [this](const http::Request& request) { return next(request); }};
    auto started = http::Listener::start({.head_rules = {.allow_simple_types = true}}, {std::move(route)});
    EXPECT_TRUE(started) << started.error().text();
    listener_ = started ? std::move(*started) : nullptr;
  }

  std::string url() const { return "http://" + listener_->address(); }
  store::clickhouse::ConnectionOptions options() const {
    return {.base_url = url(),
            .database = "fleet",
            .insert_quorum = 2,
            .max_attempts = 1,
            .first_pause_ns = 1000};
  }

  // The next insert into this table fails with ClickHouse's text, and is stored all the same or not.
  void fail_insert(std::string table, std::string text, bool is_stored) {
    failing_table_ = std::move(table);
    failure_ = std::move(text);
    is_failing_stored_ = is_stored;
  }
  // In the table `batches`, whether it counts or not.
  void set_waiting(bool waits) { is_waiting_ = waits; }
  void lose_marks() { marks_.clear(); }
  void set_engine(std::string engine) { engine_ = std::move(engine); }

  std::vector<store::clickhouse::BatchMark> marks() const {
    store::clickhouse::Connection connection(options());
    const auto marks = store::clickhouse::read_marks(connection);
    EXPECT_TRUE(marks) << marks.error().text();
    return marks.value_or(std::vector<store::clickhouse::BatchMark>());
  }

  // That begin so.
  std::vector<http::Request> requests(std::string_view statement) const {
    std::vector<http::Request> found;
    std::ranges::copy_if(requests_, std::back_inserter(found), [&](const http::Request& request) {
      return statement_of(request).starts_with(statement);
    });
    return found;
  }

  static std::string statement_of(const http::Request& request) {
    const std::string inserting = parameter_of(request, "query");
    return inserting.empty() ? request.body : inserting;
  }
  static std::string parameter_of(const http::Request& request, std::string_view name) {
    const auto found = std::ranges::find(request.query, name, &std::pair<std::string, std::string>::first);
    return found == request.query.end() ? "" : found->second;
  }

 private:
  static http::Response response(unsigned status, std::string body) {
    return {.status = status, .content_type = "text/plain", .body = std::move(body), .headers = {}};
  }

  http::Response next(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    const std::string sql = statement_of(request);
    return sql.starts_with("INSERT INTO ") ? insert(sql, request.body) : response(200, answer_to(sql));
  }

  http::Response insert(std::string_view sql, const std::string& rows) {
    const bool is_failing = !failing_table_.empty() && sql.starts_with("INSERT INTO " + failing_table_ + " ");
    if (!is_failing || is_failing_stored_) {
      sessions_ += sql.starts_with("INSERT INTO sessions ") ? 1U : 0U;
      marks_ += sql.starts_with("INSERT INTO batches ") ? rows : "";
    }
    if (!is_failing) {
      return response(200, "");
    }
    failing_table_.clear();
    return response(500, failure_);
  }

  std::string answer_to(std::string_view sql) const {
    const auto asks = [&](std::string_view what) { return sql.find(what) != std::string_view::npos; };
    store::clickhouse::RowBinaryWriter rows;
    if (sql == "SELECT version()") {
      return version_;
    }
    if (asks("FROM batches")) {
      return marks_;
    }
    if (asks("system.columns")) {
      for (const store::clickhouse::Table& table : store::clickhouse::tables()) {
        for (const store::clickhouse::TableColumn& column : table.own) {
          rows.text(table.name).text(column.name);
        }
      }
    } else if (asks("system.tables") && !engine_.empty()) {
      rows.text("other").text("Log").text("rows").text(engine_);
    } else if (asks("system.zookeeper")) {
      rows.number(uint64_t{is_waiting_ ? 1U : 0U});
    } else if (asks("max(session)")) {
      rows.number(sessions_);
    } else if (asks("FROM sessions WHERE")) {
      rows.number(uint64_t{1});
    } else if (asks("max(format)")) {
      rows.number(uint32_t{1});
    }
    return rows.take();
  }

  std::mutex mutex_;
  const std::string version_;
  std::string engine_;
  std::string failing_table_;
  std::string failure_;
  bool is_failing_stored_ = false;
  bool is_waiting_ = false;
  uint32_t sessions_ = 0;
  std::string marks_;
  std::vector<http::Request> requests_;
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace plimsoll::testing
