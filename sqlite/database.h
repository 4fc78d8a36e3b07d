// SQLite with our rules: errors are values, handles close themselves, everything is prepared and bound.
//
//   auto row = database.query("SELECT name FROM event WHERE id = ?", id);
//   while (row && *row->step()) use(row->text(0));
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace plimsoll::sqlite {

// A prepared statement with its bound values. Must not outlive its database.
class Statement {
 public:
  // True with a row at hand, false at the end.
  Result<bool> step();

  int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  // valid until the next step
  std::string blob(int column) const;

  Status bind(int index, int64_t value);
  Status bind(int index, double value);
  Status bind(int index, std::string_view text);
  Status bind(int index, Bytes blob);

 private:
  friend class Database;
  void reset();  // to before the first step, without values
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class OpenMode {
  kReadWrite,  // creates the file where it is missing; commits are on disk when they return (synchronous=FULL)
  // Likewise; a file that it creates can give room back to the disk (PRAGMA incremental_vacuum). Each page that is written costs a little more.
  kReadWriteShrinking,
  // Of a file that another process may be writing. Where the folder cannot be written and nobody has the file open (a read-only
  // copy), nothing is created beside it, and what an unfinished WAL holds is seen all the same.
  kRead,
};

// A connection. One thread at a time.
class Database {
 public:
  static Result<Database> open(const std::string& path, OpenMode mode);

  // One or several statements without values.
  Status run(const std::string& sql);

  // Whether one has begun and is not over: SQLite ends it by itself where it runs out of memory or room.
  bool is_in_transaction() const;
  // Ends a transaction without its changes.
  void roll_back() noexcept;

  template <typename... Values>
  Result<Statement> query(std::string_view sql, const Values&... values) {
    auto statement = prepare(sql);
    const Status bound = statement ? bind_all(*statement, values...) : propagate(statement);
    return bound ? std::move(statement) : propagate(bound);
  }

  // A statement without rows (INSERT, UPDATE, DELETE). Kept prepared for the next time.
  template <typename... Values>
  Status execute(std::string_view sql, const Values&... values) {
    const auto statement = prepare_to_keep(sql);
    if (!statement) {
      return propagate(statement);
    }
    const Status bound = bind_all(**statement, values...);
    const auto stepped = bound ? (*statement)->step() : propagate(bound);
    (*statement)->reset();
    return stepped ? Status() : propagate(stepped);
  }

  // The integer of a query's single row; `otherwise` where there is none.
  template <typename... Values>
  Result<int64_t> integer(std::string_view sql, int64_t otherwise, const Values&... values) {
    auto statement = query(sql, values...);
    if (!statement) {
      return propagate(statement);
    }
    const auto has_row = statement->step();
    if (!has_row) {
      return propagate(has_row);
    }
    return *has_row ? statement->integer(0) : otherwise;
  }

  // A file of an older version lacks the newer ones until its writer has opened it.
  Result<bool> has_table(std::string_view name);

  // Writes what it holds to a new file, on disk when it returns: as of the transaction for reading that has begun on it, if one has,
  // whatever others write meanwhile. `copied` is called every few hundred pages with the bytes of these.
  Status copy_to(const std::string& path, const std::function<void(uint64_t bytes)>& copied = {});

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  template <typename T>
  static auto as_bindable(const T& value) {
    if constexpr (std::is_same_v<T, Bytes>) {
      return value;
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      return std::string_view(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<int64_t>(value);
    }
  }

  template <typename... Values>
  static Status bind_all(Statement& statement, const Values&... values) {
    // The fold below changes both, which the check does not see.
    int index = 0;  // NOLINT(misc-const-correctness)
    Status bound;   // NOLINT(misc-const-correctness)
    ((bound = bound ? statement.bind(++index, as_bindable(values)) : bound), ...);
    return bound;
  }

  Database(sqlite3* connection, std::string path) : connection_(connection), path_(std::move(path)) {}
  Result<Statement> prepare(std::string_view sql);
  Result<Statement*> prepare_to_keep(std::string_view sql);

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
  std::map<std::string, Statement, std::less<>> kept_;  // by text: the few that a program has
};

// Hands each row of a query (Database::query) to `consume`, which may return a Status: the first failure ends it.
template <typename Consume>
Status for_each_row(Result<Statement> rows, Consume consume) {
  if (!rows) {
    return propagate(rows);
  }
  while (true) {
    const auto has_row = rows->step();
    if (!has_row || !*has_row) {
      return has_row ? Status() : propagate(has_row);
    }
    const Statement& row = *rows;
    if constexpr (std::is_void_v<decltype(consume(row))>) {
      consume(row);
    } else if (Status consumed = consume(row); !consumed) {
      return consumed;
    }
  }
}

// BEGIN IMMEDIATE ... COMMIT; rolls back when it goes out of scope without commit(). For reading, a transaction of
// OpenMode::kRead sees one consistent state throughout.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  static Result<Transaction> begin_read(Database& database);

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  // On success everything is on disk. On failure nothing has changed.
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace plimsoll::sqlite
