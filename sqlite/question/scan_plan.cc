#include "sqlite/question/scan_plan.h"

#include <sqlite3.h>

#include <algorithm>
#include <optional>

#include "sqlite/question/argument.h"

namespace plimsoll::sqlite {
namespace {

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

// For each constraint a letter for the column, one for the comparison, and
// whether its operand is a list.
constexpr size_t kPlanLetters = 3;
constexpr char kFirstLetter = '0';
// Of a comparison that is decided for each entry of a dictionary; longer ones are SQLite's, which has limits of its own.
constexpr size_t kMaxPatternBytes = 1000;
constexpr size_t kMaxOperands = 100'000;
constexpr size_t kMaxOperandBytes = size_t{16} << 20;

std::string plan_of(size_t column, Comparison comparison, bool is_list) {
  return {static_cast<char>(kFirstLetter + column),
          static_cast<char>(kFirstLetter + static_cast<int>(comparison)), is_list ? '+' : '-'};
}

// False where the operand is of another type than the column: SQLite's conversions are left to SQLite.
bool add_operand(sqlite3_value* value, ColumnType type, Constraint& constraint) {
  const int is = ::sqlite3_value_type(value);
  if (is == SQLITE_NULL) {
    return true;
  }
  if (type == ColumnType::kText && is == SQLITE_TEXT) {
    constraint.operands.emplace_back(std::string(text_of(value)));
    return !is_pattern(constraint.comparison) || text_of(value).size() <= kMaxPatternBytes;
  }
  if (type == ColumnType::kInteger && is == SQLITE_INTEGER && !is_pattern(constraint.comparison)) {
    constraint.operands.emplace_back(int64_t{::sqlite3_value_int64(value)});
    return true;
  }
  return false;
}

// False too where a list is longer than it pays: a statement can make one of any length.
bool add_operands(sqlite3_value* argument, bool is_list, ColumnType type, Constraint& constraint) {
  if (!is_list) {
    return add_operand(argument, type, constraint);
  }
  sqlite3_value* element = nullptr;
  int code = ::sqlite3_vtab_in_first(argument, &element);
  size_t text_bytes = 0;
  while (code == SQLITE_OK && element != nullptr) {
    if (!add_operand(element, type, constraint)) {
      return false;
    }
    text_bytes += ::sqlite3_value_type(element) == SQLITE_TEXT ? text_of(element).size() : 0;
    if (constraint.operands.size() > kMaxOperands || text_bytes > kMaxOperandBytes) {
      return false;
    }
    code = ::sqlite3_vtab_in_next(argument, &element);
  }
  std::ranges::sort(constraint.operands);
  return code == SQLITE_DONE;
}

// Comparisons save time, but never so much that two scans seem better than one: for each side of an OR SQLite would make another.
double cost_share(size_t comparisons) {
  return std::max(0.55, 1 - 0.1 * static_cast<double>(comparisons));
}

}  // namespace

std::string plan_scan(const std::vector<Column>& columns, sqlite3_index_info& info) {
  std::string plan;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& constraint = info.aConstraint[i];
    const auto comparison = comparison_of(constraint.op);
    if (constraint.usable == 0 || !comparison || constraint.iColumn < 0) {
      continue;
    }
    const auto column = static_cast<size_t>(constraint.iColumn);
    const bool compares_bytes =
        is_pattern(*comparison) || std::string_view(::sqlite3_vtab_collation(&info, i)) == "BINARY";
    if (!columns[column].narrows || !compares_bytes) {
      continue;
    }
    const bool is_list = *comparison == Comparison::kEqual && ::sqlite3_vtab_in(&info, i, 1) != 0;
    plan += plan_of(column, *comparison, is_list);
    info.aConstraintUsage[i].argvIndex = static_cast<int>(plan.size() / kPlanLetters);
  }
  info.estimatedCost *= cost_share(plan.size() / kPlanLetters);
  return plan;
}

std::vector<Constraint> constraints_of(std::string_view plan, sqlite3_value** arguments,
                                       const std::vector<Column>& columns) {
  std::vector<Constraint> constraints;
  for (size_t i = 0; !plan.empty(); ++i, plan.remove_prefix(kPlanLetters)) {
    Constraint constraint{.column = static_cast<size_t>(plan[0] - kFirstLetter),
                          .comparison = static_cast<Comparison>(plan[1] - kFirstLetter),
                          .operands = {}};
    if (add_operands(arguments[i], plan[2] == '+', columns[constraint.column].type, constraint)) {
      constraints.push_back(std::move(constraint));
    }
  }
  return constraints;
}

}  // namespace plimsoll::sqlite
