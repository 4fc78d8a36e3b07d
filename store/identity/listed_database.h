// Databases of a data directory as its identity says that they are: there, and of this directory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

// What is wrong with a database, with what would be lost and what to do about it. `name` is below the data directory: "archive.db",
// "blocks/000007/catalogue.db".
std::unexpected<Error> missing_database(const std::string& data_dir, std::string_view name);
std::unexpected<Error> foreign_database(const std::string& data_dir, std::string_view name,
                                        std::string_view found_id, std::string_view expected_id);

// Fails unless it is there and carries this ID. Opens it for reading.
Status expect_database(const std::string& data_dir, std::string_view name, std::string_view id);

// Whether the database at `path`, which stands in the data directory itself, is there; one that is listed has to be, and to carry the
// directory's ID. Of a directory without an identity any will do.
Result<bool> is_database_there(const std::string& path);

}  // namespace plimsoll::store
