// Statements to a ClickHouse server over its HTTP interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "store/clickhouse/host_choice.h"
#include "store/clickhouse/server_version.h"

namespace plimsoll::store::clickhouse {

struct ConnectionOptions {
  std::string base_url = "http://127.0.0.1:8123";
  // Of replicas that have the same tables: the next one is asked where one fails.
  std::vector<std::string> further_urls = {};
  std::string database = "default";  // letters, digits and '_'
  std::string user = {};             // empty: the server's default user
  std::string password = {};
  std::string ca =
      {};  // PEM file of the authority of an https:// server; empty: those that this machine trusts
  int64_t connect_timeout_ms = 5000;
  // Tables are replicated: an insert is acknowledged once so many replicas have it, and questions are answered by replicas that have all of them.
  // 0: they are not.
  int64_t insert_quorum = 0;
  // Which of the databases that rows are split over this is (shards.h). 0: the main one, which has all tables.
  size_t shard = 0;
  // Of a request. The server's own timeout for the statement is a tenth shorter, at most 5 s.
  int64_t timeout_ms = 60'000;
  // Of a server that acknowledges nothing (http/client.h): after a cut network it is known sooner that it is gone.
  int64_t silence_timeout_ms = 20'000;
  size_t max_response_bytes = size_t{512} << 20U;
  // For statements that are repeated: each pause is twice the last one, and half of it is random.
  int max_attempts = 4;
  int64_t first_pause_ns = 100'000'000;

  bool is_replicated() const { return insert_quorum > 0; }
};

// The same for each of the hosts alone.
std::vector<ConnectionOptions> each_host(const ConnectionOptions& options);

// "clickhouse://user@host:8123/database", or clickhouses:// for TLS; without a port it is 8123, or 8443. Several hosts stand with commas between
// them. A password in it is refused: addresses are seen in lists of processes and in logs.
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

class OneHost;

// For one thread at a time; movable. Of several hosts a statement goes to the one that answered last. Where that one is gone, read-only, behind, or
// without Keeper, a statement that may be sent twice goes to the next one, and later statements do.
class Connection : public Queryable {
 public:
  // `choice` is of as many hosts as the options name; null: the connection has one of its own.
  explicit Connection(ConnectionOptions options, std::shared_ptr<HostChoice> choice = nullptr);

  using Queryable::query;
  Result<std::string> query(std::string_view sql, std::span<const ExternalTable> tables) override;

  // Rows as RowBinary, sent once, to one host. After a failure the server may have stored all, some or none of them, and may still store more.
  Status insert(std::string_view table, std::string_view columns, std::string_view rows);

  Status create_database();
  Result<ServerVersion> version();

  const ConnectionOptions& options() const { return options_; }

 private:
  friend class OneHost;

  struct Sent {
    std::string path_and_query;
    std::string body;
    std::string content_type;
  };
  struct Answer {
    Result<std::string> body;
    bool is_host_failing = false;  // another one may answer
  };
  struct Host {
    std::string url;
    http::Client client;
    http::Client insert_client;  // which sends nothing twice
    ServerVersion version = {};  // of replicated tables; 0: it was not asked for yet
  };
  size_t host() const;
  void keep(size_t host);
  std::string at_host(size_t host, std::string_view what) const;
  std::string path_for(bool has_database) const;
  Sent with_tables(std::string_view sql, std::span<const ExternalTable> tables) const;
  Result<std::string> send_again_and_again(const Sent& sent, std::string_view what);
  Result<std::string> ask_hosts(const Sent& sent, std::string_view what);
  Answer ask(size_t host, bool is_insert, const Sent& sent, std::string_view what);
  Answer learn_version(Host& host, std::string_view what) const;
  Answer send(http::Client& client, std::string_view path_and_query, const Sent& sent,
              std::string_view what) const;

  ConnectionOptions options_;
  std::shared_ptr<HostChoice> choice_;
  std::vector<Host> hosts_;
  OneHost* one_host_ = nullptr;
  std::mt19937_64 random_;
};

// While it is there, the statements of a connection go to one host, which sees what they have stored: the host of the first insert, or of the first
// statement that is answered. Once that one fails they all fail; those after the scope go to the next host. Within another one it does nothing.
class OneHost {
 public:
  explicit OneHost(Connection& connection);
  OneHost(const OneHost&) = delete;
  OneHost& operator=(const OneHost&) = delete;
  ~OneHost();

 private:
  friend class Connection;

  Connection& connection_;
  std::optional<size_t> host_;  // none: no statement has settled it
};

// A connection for each statement under way. Any thread.
class ConnectionPool : public Queryable {
 public:
  explicit ConnectionPool(ConnectionOptions options)
      : options_(std::move(options)),
        choice_(std::make_shared<HostChoice>(1 + options_.further_urls.size())) {}
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;
  ~ConnectionPool() override = default;

  // On a connection that is not in use, or on a new one.
  using Queryable::query;
  Result<std::string> query(std::string_view sql, std::span<const ExternalTable> tables) override;

  // For inserts, and for statements that belong together (OneHost).
  Connection open() const { return Connection(options_, choice_); }

  const ConnectionOptions& options() const { return options_; }

 private:
  std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);

  const ConnectionOptions options_;
  const std::shared_ptr<HostChoice> choice_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;  // protected by mutex_
};

}  // namespace plimsoll::store::clickhouse
