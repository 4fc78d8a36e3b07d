#include "store/sqlite/virtual_table.h"

#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <optional>

namespace plimsoll::sqlite {
namespace {

// What SQLite keeps for each table, connection and cursor begins with a structure of its own.

struct Module {
  VirtualTable& table;
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
  sqlite3_int64 row_number = 0;
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

std::optional<Comparison> comparison_of(unsigned char sqlite_operator) {
  switch (sqlite_operator) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return Comparison::kEqual;
    case SQLITE_INDEX_CONSTRAINT_NE:
      return Comparison::kNotEqual;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return Comparison::kLess;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return Comparison::kLessEqual;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return Comparison::kGreater;
    case SQLITE_INDEX_CONSTRAINT_GE:
      return Comparison::kGreaterEqual;
    case SQLITE_INDEX_CONSTRAINT_LIKE:
      return Comparison::kLike;
    case SQLITE_INDEX_CONSTRAINT_GLOB:
      return Comparison::kGlob;
    default:
      return std::nullopt;
  }
}

bool is_pattern(Comparison comparison) {
  return comparison == Comparison::kLike || comparison == Comparison::kGlob;
}

// A plan goes from best_index() to filter() as text: for each constraint a letter for the column, one for the comparison, and
// whether its operand is a list.
constexpr size_t kPlanLetters = 3;
constexpr char kFirstLetter = '0';
constexpr size_t kMostColumns = 70;

std::string plan_of(size_t column, Comparison comparison, bool is_list) {
  return {static_cast<char>(kFirstLetter + column),
          static_cast<char>(kFirstLetter + static_cast<int>(comparison)), is_list ? '+' : '-'};
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
  std::string plan;
  info->estimatedCost = rows.estimated_rows();
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const auto comparison = comparison_of(constraint.op);
    if (constraint.usable == 0 || !comparison || constraint.iColumn < 0) {
      continue;
    }
    const auto column = static_cast<size_t>(constraint.iColumn);
    const bool compares_bytes =
        is_pattern(*comparison) || std::string_view(::sqlite3_vtab_collation(info, i)) == "BINARY";
    if (!rows.columns()[column].narrows || !compares_bytes) {
      continue;
    }
    const bool is_list = *comparison == Comparison::kEqual && ::sqlite3_vtab_in(info, i, 1) != 0;
    plan += plan_of(column, *comparison, is_list);
    info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size() / kPlanLetters);
    info->estimatedCost /= 4;
  }
  info->estimatedRows = static_cast<sqlite3_int64>(info->estimatedCost);
  info->idxStr = ::sqlite3_mprintf("%s", plan.c_str());
  info->needToFreeIdxStr = 1;
  return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

std::string text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(::sqlite3_value_text(value));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(::sqlite3_value_bytes(value)));
}

// False where the operand is of another type than the column: SQLite's conversions are left to SQLite.
bool add_operand(sqlite3_value* value, ColumnType type, Constraint& constraint) {
  const int is = ::sqlite3_value_type(value);
  if (is == SQLITE_NULL) {
    return true;
  }
  if (type == ColumnType::kText && is == SQLITE_TEXT) {
    constraint.operands.emplace_back(text_of(value));
    return true;
  }
  if (type == ColumnType::kInteger && is == SQLITE_INTEGER && !is_pattern(constraint.comparison)) {
    constraint.operands.emplace_back(int64_t{::sqlite3_value_int64(value)});
    return true;
  }
  return false;
}

bool add_operands(sqlite3_value* argument, bool is_list, ColumnType type, Constraint& constraint) {
  if (!is_list) {
    return add_operand(argument, type, constraint);
  }
  sqlite3_value* element = nullptr;
  int code = ::sqlite3_vtab_in_first(argument, &element);
  while (code == SQLITE_OK && element != nullptr) {
    if (!add_operand(element, type, constraint)) {
      return false;
    }
    code = ::sqlite3_vtab_in_next(argument, &element);
  }
  return code == SQLITE_DONE;
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  *cursor = std::make_unique<Cursor>(connection_of(table).module).release();
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Cursor> owned(&cursor_of(cursor));
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  Cursor& at = cursor_of(cursor);
  const auto has_row = at.rows->next();
  at.has_row = has_row.value_or(false);
  ++at.row_number;
  if (!has_row && at.module.failure) {
    at.module.failure = propagate(has_row);
  }
  return has_row ? SQLITE_OK : SQLITE_ERROR;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* plan, int, sqlite3_value** arguments) {
  Cursor& at = cursor_of(cursor);
  std::vector<Constraint> constraints;
  std::string_view rest(plan);
  for (size_t i = 0; !rest.empty(); ++i, rest.remove_prefix(kPlanLetters)) {
    Constraint constraint{.column = static_cast<size_t>(rest[0] - kFirstLetter),
                          .comparison = static_cast<Comparison>(rest[1] - kFirstLetter),
                          .operands = {}};
    const ColumnType type = at.module.table.columns()[constraint.column].type;
    if (add_operands(arguments[i], rest[2] == '+', type, constraint)) {
      constraints.push_back(std::move(constraint));
    }
  }
  at.rows = at.module.table.scan(constraints);
  at.row_number = 0;
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
  *id = cursor_of(cursor).row_number;
  return SQLITE_OK;
}

// Without xCreate, the table is there by its name, and cannot be made anew.
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

template <typename Value>
bool compares(Comparison comparison, const Value& value, const Value& operand) {
  switch (comparison) {
    case Comparison::kEqual:
      return value == operand;
    case Comparison::kNotEqual:
      return value != operand;
    case Comparison::kLess:
      return value < operand;
    case Comparison::kLessEqual:
      return value <= operand;
    case Comparison::kGreater:
      return value > operand;
    case Comparison::kGreaterEqual:
      return value >= operand;
    case Comparison::kLike:
    case Comparison::kGlob:
      return false;
  }
  return false;
}

bool matches(Comparison comparison, const std::string& value, const std::string& pattern) {
  return comparison == Comparison::kLike ? ::sqlite3_strlike(pattern.c_str(), value.c_str(), 0) == 0
                                         : ::sqlite3_strglob(pattern.c_str(), value.c_str()) == 0;
}

}  // namespace

bool Constraint::passes(int64_t value) const {
  return std::ranges::any_of(
      operands, [&](const auto& operand) { return compares(comparison, value, std::get<int64_t>(operand)); });
}

bool Constraint::passes(const std::string& value) const {
  return std::ranges::any_of(operands, [&](const auto& operand) {
    const auto& text = std::get<std::string>(operand);
    return is_pattern(comparison) ? matches(comparison, value, text) : compares(comparison, value, text);
  });
}

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

Status add_virtual_table(sqlite3* connection, const std::string& name, VirtualTable& table, Status& failure) {
  if (table.columns().size() > kMostColumns) {
    return fail(ErrorCode::kTooLarge, "table {} has more than {} columns", name, kMostColumns);
  }
  auto module = std::make_unique<Module>(table, failure);
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
