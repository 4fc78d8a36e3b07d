// A database by itself: what SQLite says of it, and whose it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sqlite/database.h"
#include "store/care/check_log.h"

namespace plimsoll::store {

// `name` is below the data directory. An empty `id`: the directory has none yet. Returns the database, for what is to be looked at in it;
// nothing where it cannot be read.
std::optional<sqlite::Database> check_database(CheckLog& log, const std::string& name, std::string_view id);

// Adds a finding for a query that counts what is wrong, where it counts any, or fails. `what` stands behind the number.
void expect_none(CheckLog& log, sqlite::Database& database, std::string_view sql, std::string_view what,
                 std::string_view remedy);

}  // namespace plimsoll::store
