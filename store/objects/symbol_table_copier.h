// Copies symbol tables.
#pragma once

#include <string>

#include "base/result.h"
#include "store/objects/copy_draft.h"

namespace plimsoll::store {

// Those below symtab/ that the store lacks. Each is immutable; one that goes is made again when it is needed.
Status copy_symbol_tables(const std::string& data_dir, CopyDraft& draft);

}  // namespace plimsoll::store
