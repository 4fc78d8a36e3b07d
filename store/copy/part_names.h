// The names of a block's locations, out of its catalogue.
#pragma once

#include "base/result.h"
#include "sqlite/database.h"
#include "store/copy/part.h"

namespace plimsoll::store {

// Calls `use` with all names, some ten thousand locations at a time, in the order of their IDs. A location that was looked up in vain has
// no frames.
Status read_part_names(sqlite::Database& catalogue, const UseNames& use);

}  // namespace plimsoll::store
