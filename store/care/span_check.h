// A block of spans of request traces: its catalogue, its files, and how they fit each other.
#pragma once

#include <string_view>

#include "store/blocks/block_folder.h"
#include "store/care/check_log.h"

namespace plimsoll::store {

// As of one moment, beside the process that writes. One that was dropped meanwhile is passed over. `id`: of the data directory; empty: it has
// none yet. Memory: a chunk, and the names of the block.
void check_span_block(CheckLog& log, const BlockFolder& block, std::string_view id);

}  // namespace plimsoll::store
