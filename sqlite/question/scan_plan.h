// Which comparisons of a statement a virtual table is asked to decide: chosen when SQLite plans the statement, and with their operands
// when it scans the table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sqlite/question/constraint.h"

struct sqlite3_index_info;  // NOLINT(readability-identifier-naming): SQLite names it
struct sqlite3_value;

namespace plimsoll::sqlite {

constexpr size_t kMaxColumns = 70;  // that a plan has letters for

// The plan, as text; numbers the operands that constraints_of() gets, and lowers the estimated cost.
std::string plan_scan(const std::vector<Column>& columns, sqlite3_index_info& info);

// Leaves out those whose operands are not of the column's type, or too many or too long to be worth it.
std::vector<Constraint> constraints_of(std::string_view plan, sqlite3_value** arguments,
                                       const std::vector<Column>& columns);

}  // namespace plimsoll::sqlite
