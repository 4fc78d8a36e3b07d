// A block: its catalogue, its segments, and how they fit each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sqlite/database.h"
#include "store/blocks/block_folder.h"
#include "store/care/check_log.h"

namespace plimsoll::store {

// The catalogue, for what is to be looked at beside the archive; nothing where it cannot be read. One that was dropped meanwhile is passed
// over.
std::optional<sqlite::Database> check_block(CheckLog& log, const BlockFolder& block, bool is_newest,
                                            std::string_view id);

}  // namespace plimsoll::store
