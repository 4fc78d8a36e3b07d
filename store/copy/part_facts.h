// What a part has of a block's catalogue beside dictionaries, rows and names: its state, profiles, symbols of kernels, machines of binaries,
// profiles that were set aside, and accounts of searches for symbols.
#pragma once

#include "base/result.h"
#include "sqlite/database.h"
#include "store/copy/part.h"

namespace plimsoll::store {

// Part of the caller's transaction. After an error the part is of no use.
Status read_part_facts(sqlite::Database& catalogue, CopiedPart& part);

// The same in two parts. State, profiles and what was set aside: of a block that takes no more profiles they never change.
Status read_profile_facts(sqlite::Database& catalogue, CopiedPart& part);
// Symbols of kernels, machines of binaries, and accounts, which change when symbols are searched for.
Status read_binary_facts(sqlite::Database& catalogue, CopiedPart& part);

}  // namespace plimsoll::store
