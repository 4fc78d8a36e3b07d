// Writes new entries to the dictionaries of a block.
#pragma once

#include <span>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/batch.h"

namespace plimsoll::store {

// Under the IDs that they have, with what is recorded of each new origin's profile. Part of the caller's transaction.
Status write_entries(sqlite::Database& catalogue, const NewEntries& entries,
                     std::span<const ProfileRecord> profiles);

// A new origin, with the events that were counted of it. Part of the caller's transaction.
Status insert_origin(sqlite::Database& catalogue, size_t id, const OriginEntry& entry,
                     const ProfileRecord& profile);

}  // namespace plimsoll::store
