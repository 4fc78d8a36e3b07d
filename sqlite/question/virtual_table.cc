#include "sqlite/question/virtual_table.h"

#include <fmt/ranges.h>
#include <sqlite3.h>

#include "sqlite/question/scan_plan.h"

namespace plimsoll::sqlite {
namespace {

// What SQLite keeps for each table, connection and cursor begins with a structure of its own.

struct Module {
  VirtualTable& table;
  const StopCheck& check;
  Status& failure;
};

struct Connection : sqlite3_vtab {
  explicit Connection(Module& of) : sqlite3_vtab{}, module(of) {}
  Module& module;
};

struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(Module& of) : sqlite3_vtab_cursor{}, module(of) {}
  Module& module;
  std::unique_ptr<VirtualCursor> rows;
  bool has_row = false;
};

Connection& connection_of(sqlite3_vtab* table) {
  return static_cast<Connection&>(*table);
}

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) {
  return static_cast<Cursor&>(*cursor);
}

std::string_view type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
      return "TEXT";
    case ColumnType::kInteger:
      return "INTEGER";
    case ColumnType::kReal:
      return "REAL";
  }
  return {};
}

int connect(sqlite3* connection, void* module, int, const char* const*, sqlite3_vtab** table, char** error) {
  auto connected = std::make_unique<Connection>(*static_cast<Module*>(module));
  std::vector<std::string> declared;
  for (const Column& column : connected->module.table.columns()) {
    declared.push_back(fmt::format("\"{}\" {}", column.name, type_name(column.type)));
  }
  const std::string sql = fmt::format("CREATE TABLE t ({})", fmt::join(declared, ", "));
  const int code = ::sqlite3_declare_vtab(connection, sql.c_str());
  if (code == SQLITE_OK) {
    *table = connected.release();
  } else {
    *error = ::sqlite3_mprintf("%s", ::sqlite3_errmsg(connection));
  }
  return code;
}

int disconnect(sqlite3_vtab* table) {
  const std::unique_ptr<Connection> owned(&connection_of(table));
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  const VirtualTable& rows = connection_of(table).module.table;
  info->estimatedCost = rows.estimated_rows();
  const std::string plan = plan_scan(rows.columns(), *info);
  info->estimatedRows = static_cast<sqlite3_int64>(info->estimatedCost);
  info->idxStr = ::sqlite3_mprintf("%s", plan.c_str());
  info->needToFreeIdxStr = 1;
  return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  *cursor = std::make_unique<Cursor>(connection_of(table).module).release();
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Cursor> owned(&cursor_of(cursor));
  return SQLITE_OK;
}

int failed_with(const Error& error, Cursor& cursor) {
  cursor.has_row = false;
  if (cursor.module.failure) {
    cursor.module.failure = std::unexpected(error);
  }
  return SQLITE_ERROR;
}

int next(sqlite3_vtab_cursor* cursor) {
  Cursor& at = cursor_of(cursor);
  const auto has_row = at.rows->next();
  if (!has_row) {
    return failed_with(has_row.error(), at);
  }
  at.has_row = *has_row;
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* plan, int, sqlite3_value** arguments) {
  Cursor& at = cursor_of(cursor);
  VirtualTable& table = at.module.table;
  auto rows = table.scan(constraints_of(plan, arguments, table.columns()), at.module.check);
  if (!rows) {
    return failed_with(rows.error(), at);
  }
  at.rows = std::move(*rows);
  return next(cursor);
}

int eof(sqlite3_vtab_cursor* cursor) {
  return cursor_of(cursor).has_row ? 0 : 1;
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  ColumnResult result(context);
  cursor_of(cursor).rows->value(static_cast<size_t>(index), result);
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = cursor_of(cursor).rows->row_id();
  return SQLITE_OK;
}

// Without xCreate, the table is there by its name, and cannot be made again.
constexpr sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xDisconnect = disconnect;
  module.xBestIndex = best_index;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}();

}  // namespace

void ColumnResult::set(int64_t value) {
  ::sqlite3_result_int64(context_, value);
}

void ColumnResult::set(double value) {
  ::sqlite3_result_double(context_, value);
}

void ColumnResult::set_lasting(std::string_view text) {
  ::sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void ColumnResult::set_copy(std::string_view text) {
  ::sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void ColumnResult::set_value(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    set_copy(std::string_view(*text));
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    set(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    set(*real);
  }
}

Status add_virtual_table(sqlite3* connection, const std::string& name, VirtualTable& table,
                         const StopCheck& check, Status& failure) {
  if (table.columns().size() > kMaxColumns) {
    return fail(ErrorCode::kTooLarge, "table {} has more than {} columns", name, kMaxColumns);
  }
  auto module = std::make_unique<Module>(table, check, failure);
  const auto destroy = [](void* owned) { const std::unique_ptr<Module> gone(static_cast<Module*>(owned)); };
  // Calls `destroy` on failure too.
  const int code = ::sqlite3_create_module_v2(connection, name.c_str(), &kModule, module.release(), destroy);
  if (code != SQLITE_OK) {
    return fail(ErrorCode::kIo, "adding table {}: {}", name, ::sqlite3_errstr(code));
  }
  // The first statement that names a table declares its columns, for which a reader has no permission later.
  sqlite3_stmt* statement = nullptr;
  const std::string sql = fmt::format("SELECT 0 FROM \"{}\"", name);
  const int prepared = ::sqlite3_prepare_v2(connection, sql.c_str(), -1, &statement, nullptr);
  ::sqlite3_finalize(statement);
  return prepared == SQLITE_OK
             ? Status()
             : fail(ErrorCode::kIo, "declaring table {}: {}", name, ::sqlite3_errmsg(connection));
}

}  // namespace plimsoll::sqlite
