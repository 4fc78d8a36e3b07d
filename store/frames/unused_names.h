// Functions and source files of a catalogue that no frame uses any more: their locations were bound again, to better symbols.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// Before frames are replaced. A catalogue whose block was sealed by an older program lacks the table that counts them.
Status prepare_rebinding(sqlite::Database& database);

// Notes that a location is about to be bound, which may have frames.
Status count_rebinding(sqlite::Database& database, uint32_t location);

// Removes them where that is due: at once in small catalogues, in others once an eighth of the locations has been bound again. So
// it costs a pass over the frames for as many locations that were written. IDs are never given again. Part of the
// caller's transaction, after all of its BindingWriters.
Status drop_unused_names(sqlite::Database& database);

}  // namespace plimsoll::store
