#include "sqlite/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>

#include "base/log.h"
#include "sqlite/memory_allowance.h"
#include "sqlite/page_checksums.h"

namespace plimsoll::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

ErrorCode code_of(int sqlite_code) {
  // What SQLite maps of a file, and takes while it reads or writes one: https://sqlite.org/rescode.html
  if (sqlite_code == SQLITE_IOERR_NOMEM || sqlite_code == SQLITE_IOERR_SHMMAP ||
      sqlite_code == SQLITE_IOERR_MMAP) {
    return ErrorCode::kExhausted;
  }
  switch (sqlite_code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
      return ErrorCode::kUnavailable;
    case SQLITE_NOMEM:
      return ErrorCode::kExhausted;
    case SQLITE_CANTOPEN:
      return ErrorCode::kNotFound;
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return ErrorCode::kDenied;
    default:
      return ErrorCode::kIo;
  }
}

std::unexpected<Error> failure_of(sqlite3* connection, int code, std::string_view what) {
  const char* const file = ::sqlite3_db_filename(connection, "main");
  const int extended = ::sqlite3_extended_errcode(connection);
  return fail(code_of((extended & 0xFF) == code ? extended : code), "{} in {}: {}", what,
              file == nullptr ? "a database" : file, ::sqlite3_errmsg(connection));
}

// How to open a file, for sqlite3_open_v2().
struct OpenPlan {
  std::string name;
  int flags = SQLITE_OPEN_NOMUTEX;
  const char* vfs = nullptr;
  const char* pragmas = "PRAGMA query_only=ON;";
};

// A name as a URI: what has a meaning there is escaped.
std::string uri_of(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : path) {
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", static_cast<unsigned char>(c))
                                            : std::string(1, c);
  }
  return fmt::format("{}?{}", uri, query);
}

bool may_write_beside(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return ::faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK, AT_EACCESS) == 0;
}

// A reader of a database in WAL mode needs write access to its shared-memory file, hence no SQLITE_OPEN_READONLY; query_only keeps
// it from changing anything. Where the folder cannot be written SQLite finds its way if both files are there; they are while a process
// has the database open. Where they are not this is a copy that nothing changes, and no locks are needed.
OpenPlan plan_for_reading(const std::string& path) {
  std::error_code error;
  const bool has_shared_memory = std::filesystem::exists(path + "-shm", error);
  const auto wal_bytes = std::filesystem::file_size(path + "-wal", error);
  const bool has_wal = !error;
  if (may_write_beside(path) || (has_shared_memory && has_wal)) {
    return {.name = path, .flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX};
  }
  if (!has_wal || wal_bytes == 0) {
    return {.name = uri_of(path, "immutable=1"),
            .flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX};
  }
  // What was committed last stands in the WAL alone. In exclusive mode SQLite keeps its index in the process's own memory, and by
  // "unix-none" takes no locks, for which it would have to write.
  return {.name = path,
          .flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
          .vfs = "unix-none",
          .pragmas = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA query_only=ON;"};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

void Database::Close::operator()(sqlite3* connection) const {
  ::sqlite3_close_v2(connection);  // statements may go later
}

Result<bool> Statement::step() {
  const int code = ::sqlite3_step(statement_.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE) {
    return code == SQLITE_ROW;
  }
  return failure_of(::sqlite3_db_handle(statement_.get()), code, ::sqlite3_sql(statement_.get()));
}

int64_t Statement::integer(int column) const {
  return ::sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return ::sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement_.get(), column));
  return text == nullptr
             ? std::string_view()
             : std::string_view(text, static_cast<size_t>(::sqlite3_column_bytes(statement_.get(), column)));
}

std::string Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(::sqlite3_column_blob(statement_.get(), column));
  return bytes == nullptr
             ? std::string()
             : std::string(bytes, static_cast<size_t>(::sqlite3_column_bytes(statement_.get(), column)));
}

void Statement::reset() {
  ::sqlite3_reset(statement_.get());
  ::sqlite3_clear_bindings(statement_.get());
}

namespace {

Status checked_bind(sqlite3_stmt* statement, int code) {
  return code == SQLITE_OK ? Status() : failure_of(::sqlite3_db_handle(statement), code, "binding a value");
}

}  // namespace

Status Statement::bind(int index, int64_t value) {
  return checked_bind(statement_.get(), ::sqlite3_bind_int64(statement_.get(), index, value));
}

Status Statement::bind(int index, double value) {
  return checked_bind(statement_.get(), ::sqlite3_bind_double(statement_.get(), index, value));
}

Status Statement::bind(int index, std::string_view text) {
  const char* const data = text.data() == nullptr ? "" : text.data();  // a null pointer would bind NULL
  return checked_bind(statement_.get(), ::sqlite3_bind_text64(statement_.get(), index, data, text.size(),
                                                              SQLITE_TRANSIENT, SQLITE_UTF8));
}

Status Statement::bind(int index, Bytes blob) {
  const void* const data = blob.data() == nullptr ? "" : static_cast<const void*>(blob.data());
  return checked_bind(statement_.get(),
                      ::sqlite3_bind_blob64(statement_.get(), index, data, blob.size(), SQLITE_TRANSIENT));
}

Result<Database> Database::open(const std::string& path, OpenMode mode) {
  const OpenPlan plan =
      mode == OpenMode::kRead
          ? plan_for_reading(path)
          : OpenPlan{
                .name = path,
                .flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                // auto_vacuum has to come before anything is written; on a file that has tables it does nothing.
                .pragmas = mode == OpenMode::kReadWriteShrinking
                               ? "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; "
                                 "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                               : "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"};
  MemoryAllowance::install();
  sqlite3* connection = nullptr;
  const int code =
      ::sqlite3_open_v2(plan.name.c_str(), &connection, plan.flags, with_page_checksums(plan.vfs));
  Database database(connection, path);
  if (code != SQLITE_OK) {
    return fail(code_of(code), "opening {}: {}", path, ::sqlite3_errmsg(connection));
  }
  ::sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  // Of a database that is made now, or copied by VACUUM INTO.
  int reserved_bytes = kPageChecksumBytes;
  ::sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved_bytes);
  if (const auto prepared = database.run(plan.pragmas); !prepared) {
    return propagate(prepared);
  }
  return database;
}

Status Database::run(const std::string& sql) {
  const int code = ::sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : failure_of(connection_.get(), code, sql.substr(0, 80));
}

Status Database::copy_to(const std::string& path, const std::function<void(uint64_t bytes)>& copied) {
  constexpr int kPages = 256;
  sqlite3* connection = nullptr;
  const int opened = ::sqlite3_open_v2(path.c_str(), &connection,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                       with_page_checksums(nullptr));
  Database copy(connection, path);
  if (opened != SQLITE_OK) {
    return fail(code_of(opened), "creating {}: {}", path, ::sqlite3_errmsg(connection));
  }
  const auto has_checksums = has_page_checksums(path_);
  if (!has_checksums) {
    return propagate(has_checksums);
  }
  // Its header has to be there before any page: SQLite writes pages while it still holds the first one, and whether they have checksums
  // stands in that.
  int reserved_bytes = *has_checksums ? kPageChecksumBytes : 0;
  ::sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved_bytes);
  if (auto prepared = copy.run("PRAGMA synchronous=FULL; PRAGMA user_version=1"); !prepared) {
    return prepared;
  }
  sqlite3_backup* const backup = ::sqlite3_backup_init(connection, "main", connection_.get(), "main");
  if (backup == nullptr) {
    return failure_of(connection, ::sqlite3_errcode(connection), "copying " + path_);
  }
  const int64_t page_bytes = integer("PRAGMA page_size", 0).value_or(0);
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    const int before = ::sqlite3_backup_remaining(backup);
    code = ::sqlite3_backup_step(backup, kPages);
    const int pages = std::max(before == 0 ? kPages : before - ::sqlite3_backup_remaining(backup), 0);
    if (copied) {
      copied(static_cast<uint64_t>(pages * page_bytes));
    }
  }
  const int finished = ::sqlite3_backup_finish(backup);
  return code == SQLITE_DONE
             ? Status()
             : failure_of(connection, finished == SQLITE_OK ? code : finished, "copying " + path_);
}

Result<bool> Database::has_table(std::string_view name) {
  const auto tables =
      integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", 0, name);
  return tables ? Result<bool>(*tables > 0) : propagate(tables);
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      ::sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) {
    return failure_of(connection_.get(), code, sql);
  }
  return Statement(statement);
}

Result<Statement*> Database::prepare_to_keep(std::string_view sql) {
  if (const auto kept = kept_.find(sql); kept != kept_.end()) {
    return &kept->second;
  }
  auto statement = prepare(sql);
  if (!statement) {
    return propagate(statement);
  }
  return &kept_.emplace(sql, std::move(*statement)).first->second;
}

// Without memory of our own: it is called where there may be none.
void Database::roll_back() noexcept {
  if (::sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr) != SQLITE_OK) {
    try {
      log_warning("ROLLBACK in {}: {}", path_, ::sqlite3_errmsg(connection_.get()));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a message for which there is no memory
    }
  }
}

bool Database::is_in_transaction() const {
  return ::sqlite3_get_autocommit(connection_.get()) == 0;
}

Result<Transaction> Transaction::begin(Database& database) {
  const auto begun = database.run("BEGIN IMMEDIATE");
  if (!begun) {
    return propagate(begun);
  }
  return Transaction(database);
}

Result<Transaction> Transaction::begin_read(Database& database) {
  // The state that it sees is that of its first read, which is now: a copy that began without it would begin again with each commit.
  const auto begun = database.run("BEGIN; SELECT count(*) FROM sqlite_schema");
  if (!begun) {
    return propagate(begun);
  }
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr && database_->is_in_transaction()) {
    database_->roll_back();
  }
}

Status Transaction::commit() {
  if (auto committed = database_->run("COMMIT"); !committed) {
    return committed;
  }
  database_ = nullptr;
  return {};
}

}  // namespace plimsoll::sqlite
