// Rows of the tables of draws (draw_store.h): of draws, their strata and machines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/draws/draw.h"

namespace plimsoll::store {

// In a transaction of the caller's.
Status insert_draw(sqlite::Database& database, const Draw& draw);
Status insert_machine(sqlite::Database& database, std::string_view draw, const DrawnMachine& machine);
// In place of the kinds that were kept of it.
Status replace_kinds(sqlite::Database& database, std::string_view draw, const DrawnMachine& machine);

// Statements for read_draws() and read_machine(); `which`: "WHERE ... ORDER BY ...".
std::string select_draws(std::string_view which);
std::string select_machines(std::string_view which);

// All but the methods. Two more statements for each draw, one where an older version wrote the database.
Result<std::vector<DrawWithMachines>> read_draws(sqlite::Database& database, Result<sqlite::Statement> rows);
// Stays without one where there is none.
Status read_method(sqlite::Database& database, Draw& draw);
// Without kinds.
DrawnMachine read_machine(const sqlite::Statement& row);

}  // namespace plimsoll::store
