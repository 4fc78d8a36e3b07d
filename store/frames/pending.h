// Which binaries need a look, and what a catalogue knows of them. Each function is part of the caller's transaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/pending_binary.h"

namespace plimsoll::store {

// Binaries with locations that were never looked up (only IDs beyond `bound_up_to` are considered), and those whose
// symbols are not the best kind there is. Without their locations. Raises `bound_up_to` to the last location there is.
Result<std::vector<PendingBinary>> find_pending(sqlite::Database& catalogue, int64_t& bound_up_to);

// Adds a binary's locations: all of them, or only those that were never looked up.
Status add_locations(sqlite::Database& catalogue, bool all, PendingBinary& binary);

// The wire::KernelImage that a profile brought of it, serialized; empty where none did.
Result<std::string> kernel_image(sqlite::Database& catalogue, const PendingBinary& binary);

}  // namespace plimsoll::store
