// Databases of a data directory that are made when they are first needed, beside those that its identity lists.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// Opens the file for reading and writing, makes it where it is missing, runs the schema ("CREATE ... IF NOT EXISTS") and gives it the
// directory's ID where it has none, in one transaction. kConflict where it has the ID of another directory.
Result<sqlite::Database> open_bound_database(const std::string& path, const char* schema,
                                             std::string_view directory_id);

}  // namespace plimsoll::store
