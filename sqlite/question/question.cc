#include "sqlite/question/question.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/deadline.h"
#include "base/hex.h"
#include "sqlite/memory_allowance.h"
#include "sqlite/question/bounded_functions.h"

namespace plimsoll::sqlite {
namespace {

constexpr size_t kMaxStatementBytes = size_t{1} << 20;
constexpr size_t kValueBytes = 32;
constexpr int kStepsBetweenChecks = 10'000;

struct Limit {
  int what;
  int most;
};
// A single value, a single row and the depth of what is computed: far more than questions need. Functions are not interrupted, so
// that it is the lengths which bound their time.
constexpr std::array<Limit, 7> kLimits{{{SQLITE_LIMIT_LENGTH, 1 << 20},
                                        {SQLITE_LIMIT_SQL_LENGTH, kMaxStatementBytes},
                                        {SQLITE_LIMIT_COLUMN, 1000},
                                        {SQLITE_LIMIT_EXPR_DEPTH, 200},
                                        {SQLITE_LIMIT_COMPOUND_SELECT, 100},
                                        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                                        {SQLITE_LIMIT_ATTACHED, 0}}};

// Takes time by the product of its arguments' keys, and nobody misses it.
constexpr std::string_view kRefusedFunction = "json_patch";

int permit_reading(void*, int action, const char*, const char* function, const char*, const char*) {
  if (action == SQLITE_FUNCTION && function != nullptr && function == kRefusedFunction) {
    return SQLITE_DENY;
  }
  const bool reads = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
                     action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

int has_to_end(void* deadline) {
  return static_cast<Deadline*>(deadline)->check() ? 0 : 1;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

struct CloseConnection {
  void operator()(sqlite3* connection) const { ::sqlite3_close_v2(connection); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};

class Question {
 public:
  Question(std::string_view sql, const QuestionLimits& limits) : sql_(sql), limits_(limits) {}

  Result<Answer> ask(const std::map<std::string, VirtualTable*>& tables) {
    Status ready = connect(tables);
    ready = ready ? prepare() : ready;
    ready = ready ? read_rows() : ready;
    return ready ? Result<Answer>(std::move(answer_)) : propagate(ready);
  }

 private:
  Status connect(const std::map<std::string, VirtualTable*>& tables) {
    MemoryAllowance::install();
    sqlite3* connection = nullptr;
    const int code =
        ::sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr);
    connection_.reset(connection);
    if (code != SQLITE_OK) {
      return fail(ErrorCode::kIo, "opening an empty database: {}", ::sqlite3_errstr(code));
    }
    for (const auto& [name, table] : tables) {
      if (auto added = add_virtual_table(connection, name, *table, check_, failure_); !added) {
        return added;
      }
    }
    if (auto added = add_bounded_functions(connection); !added) {
      return added;
    }
    for (const auto& [what, most] : kLimits) {
      ::sqlite3_limit(connection, what, most);
    }
    ::sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    ::sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    ::sqlite3_set_authorizer(connection, permit_reading, nullptr);
    ::sqlite3_progress_handler(connection, kStepsBetweenChecks, has_to_end, &deadline_);
    return {};
  }

  Status prepare() {
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    if (sql_.size() > kMaxStatementBytes) {
      return fail(ErrorCode::kTooLarge, "a statement of over {} bytes", kMaxStatementBytes);
    }
    const int code = ::sqlite3_prepare_v2(connection_.get(), sql_.data(), static_cast<int>(sql_.size()),
                                          &statement, &tail);
    statement_.reset(statement);
    if (code != SQLITE_OK) {
      return stopped(code);
    }
    if (statement == nullptr) {
      return fail(ErrorCode::kInvalid, "no statement");
    }
    if (::sqlite3_column_count(statement) == 0) {  // REINDEX without an index asks for no permission
      return no_question();
    }
    if (!is_blank(sql_.substr(static_cast<size_t>(tail - sql_.data())))) {
      return fail(ErrorCode::kInvalid, "only one SQL statement is allowed: there is text after the first");
    }
    if (::sqlite3_bind_parameter_count(statement) > 0) {
      return fail(ErrorCode::kInvalid, "parameters (?) are not supported");
    }
    return {};
  }

  static std::unexpected<Error> no_question() {
    return fail(ErrorCode::kInvalid, "only SELECT is answered: nothing here can be changed, attached or set");
  }

  std::unexpected<Error> refused(int code) const {
    if (code == SQLITE_AUTH) {
      return no_question();
    }
    const int offset = ::sqlite3_error_offset(connection_.get());
    const std::string message = ::sqlite3_errmsg(connection_.get());
    if (offset < 0 || static_cast<size_t>(offset) > sql_.size()) {
      return fail(ErrorCode::kInvalid, "{}", message);
    }
    const size_t at = static_cast<size_t>(offset);
    const size_t line = 1 + static_cast<size_t>(std::ranges::count(sql_.substr(0, at), '\n'));
    const size_t line_start = line == 1 ? 0 : sql_.substr(0, at).rfind('\n') + 1;
    return fail(ErrorCode::kInvalid, "{} (line {}, character {}, at \"{}\")", message, line,
                at - line_start + 1, sql_.substr(at, 30));
  }

  Status read_rows() {
    const int columns = ::sqlite3_column_count(statement_.get());
    for (int i = 0; i < columns; ++i) {
      const char* const name = ::sqlite3_column_name(statement_.get(), i);
      if (name == nullptr) {
        return stopped(SQLITE_NOMEM);
      }
      answer_.columns.emplace_back(name);
    }
    size_t bytes = 0;
    while (true) {
      const int code = ::sqlite3_step(statement_.get());
      if (code != SQLITE_ROW) {
        return code == SQLITE_DONE ? Status() : stopped(code);
      }
      if (answer_.rows.size() == limits_.rows) {
        return too_large(fmt::format("{} rows", limits_.rows));
      }
      auto& row = answer_.rows.emplace_back();
      for (int i = 0; i < columns; ++i) {
        row.push_back(value(i));
        const auto* text = std::get_if<std::string>(&row.back());
        bytes += kValueBytes + (text == nullptr ? 0 : text->size());
      }
      if (::sqlite3_errcode(connection_.get()) == SQLITE_NOMEM) {  // reading a value may take memory too
        return stopped(SQLITE_NOMEM);
      }
      if (bytes > limits_.answer_bytes) {
        return too_large(fmt::format("{} bytes", limits_.answer_bytes));
      }
    }
  }

  Status stopped(int code) {
    const bool has_ended = code == SQLITE_INTERRUPT || code == SQLITE_NOMEM || !failure_;
    if (auto in_time = deadline_.check(); !in_time && has_ended) {
      return in_time;
    }
    if (!failure_) {
      return failure_;
    }
    if (code == SQLITE_NOMEM) {
      return with_hint(
          fail(ErrorCode::kTooLarge, "the statement needs over {} bytes of memory", limits_.memory_bytes),
          "select less, or use fewer common table expressions");
    }
    return refused(code);
  }

  static Status too_large(const std::string& bound) {
    return with_hint(fail(ErrorCode::kTooLarge, "the result has over {}", bound), "group, or add a LIMIT");
  }

  Value value(int column) const {
    sqlite3_stmt* const row = statement_.get();
    const auto size = [&] { return static_cast<size_t>(::sqlite3_column_bytes(row, column)); };
    switch (::sqlite3_column_type(row, column)) {
      case SQLITE_INTEGER:
        return int64_t{::sqlite3_column_int64(row, column)};
      case SQLITE_FLOAT:
        return ::sqlite3_column_double(row, column);
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(row, column));
        return text == nullptr ? std::string() : std::string(text, size());
      }
      case SQLITE_BLOB: {
        const auto* bytes = static_cast<const char*>(::sqlite3_column_blob(row, column));
        return bytes == nullptr ? std::string() : to_hex(std::string_view(bytes, size()));
      }
      default:
        return std::monostate();
    }
  }

  std::string_view sql_;
  const QuestionLimits& limits_;
  Deadline deadline_{"the statement", limits_.time, limits_.is_abandoned};
  StopCheck check_ = [this] { return deadline_.check(); };
  MemoryAllowance allowance_{limits_.memory_bytes, check_};
  Status failure_;  // of a table
  std::unique_ptr<sqlite3, CloseConnection> connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;  // goes first
  Answer answer_;
};

}  // namespace

Result<Answer> ask(std::string_view sql, const std::map<std::string, VirtualTable*>& tables,
                   const QuestionLimits& limits) {
  return Question(sql, limits).ask(tables);
}

}  // namespace plimsoll::sqlite
