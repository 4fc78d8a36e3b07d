// The catalogue of a block while its folder is being made.
#pragma once

#include <string>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// Makes one, or adds to one what it lacks, and closes it again, so that its folder may be renamed. `before`: of the block before it, some of
// which is carried over (make_block()); null: none.
Status make_catalogue(const std::string& path, sqlite::Database* before);

// Brings one of an older format up to date, and all that its write-ahead log has into the file. kUnavailable while it is being read.
Status complete_catalogue(const std::string& path);

}  // namespace plimsoll::store
