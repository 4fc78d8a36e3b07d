// Statements to a ClickHouse server over its HTTP interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/client.h"

namespace plimsoll::store::clickhouse {

struct ConnectionOptions {
  std::string base_url = "http://127.0.0.1:8123";
  std::string database = "default";  // letters, digits and '_'
  std::string user = {};             // empty: the server's default user
  std::string password = {};
  std::string ca =
      {};  // PEM file of the authority of an https:// server; empty: those that this machine trusts
  int64_t connect_timeout_ms = 5000;
  // Of a request. The server's own timeout for the statement is a tenth shorter, at most 5 s.
  int64_t timeout_ms = 60'000;
  // Of a server that acknowledges nothing (http/client.h): after a cut network it is known sooner that it is gone.
  int64_t silence_timeout_ms = 20'000;
  size_t max_response_bytes = size_t{512} << 20U;
  // For statements that are repeated: each pause is twice the last one, and half of it is random.
  int max_attempts = 4;
  int64_t first_pause_ns = 100'000'000;
};

// "clickhouse://user@host:8123/database", or clickhouses:// for TLS; without a port it is 8123, or 8443. A password in it is refused: addresses
// are seen in lists of processes and in logs.
Result<ConnectionOptions> parse_address(std::string_view address);

// Rows that go with one statement, as a table of that name.
struct ExternalTable {
  std::string name;       // letters, digits and '_'
  std::string structure;  // "id UInt32, factor Float64"
  std::string rows;       // RowBinary
};

// Answers statements: a connection, or a pool of connections.
class Queryable {
 public:
  virtual ~Queryable() = default;

  // For statements that may be sent twice: SELECT, CREATE IF NOT EXISTS, DROP. A statement is repeated where the error may pass
  // (kUnavailable). Requests end with the thread's stop scope (base/stop_scope.h).
  virtual Result<std::string> query(std::string_view sql, std::span<const ExternalTable> tables) = 0;
  Result<std::string> query(std::string_view sql) { return query(sql, {}); }

 protected:
  Queryable() = default;
  Queryable(const Queryable&) = default;
  Queryable(Queryable&&) = default;
  Queryable& operator=(const Queryable&) = default;
  Queryable& operator=(Queryable&&) = default;
};

// For one thread at a time; movable.
class Connection : public Queryable {
 public:
  explicit Connection(ConnectionOptions options);

  using Queryable::query;
  Result<std::string> query(std::string_view sql, std::span<const ExternalTable> tables) override;

  // Rows as RowBinary, sent once. After a failure the server may have stored all, some or none of them, and may still store more.
  Status insert(std::string_view table, std::string_view columns, std::string_view rows);

  Status create_database();

  const ConnectionOptions& options() const { return options_; }

 private:
  struct Sent {
    std::string path_and_query;
    std::string body;
    std::string content_type;
  };
  std::string path_for(bool has_database) const;
  Sent with_tables(std::string_view sql, std::span<const ExternalTable> tables) const;
  Result<std::string> send_again_and_again(const Sent& sent, std::string_view what);
  Result<std::string> send(http::Client& client, const Sent& sent, std::string_view what);

  ConnectionOptions options_;
  http::Client client_;
  http::Client insert_client_;  // which sends nothing twice
  std::mt19937_64 random_;
};

// A connection for each statement under way. Any thread.
class ConnectionPool : public Queryable {
 public:
  explicit ConnectionPool(ConnectionOptions options) : options_(std::move(options)) {}
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;
  ~ConnectionPool() override = default;

  // On a connection that is not in use, or on a new one.
  using Queryable::query;
  Result<std::string> query(std::string_view sql, std::span<const ExternalTable> tables) override;
  Status insert(std::string_view table, std::string_view columns, std::string_view rows);

  const ConnectionOptions& options() const { return options_; }

 private:
  std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);

  const ConnectionOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;  // protected by mutex_
};

}  // namespace plimsoll::store::clickhouse
