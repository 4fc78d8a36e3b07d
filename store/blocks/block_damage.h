// Whether a block can be read at all.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "store/blocks/block_folder.h"

namespace plimsoll::store {

// What is wrong with the block's catalogue, named; nothing: it is there, with its tables. That the disk does not give it back counts
// too. Damage deeper in it is found when it is read. Opens it, and reads two small tables. Fails where it cannot be told.
Result<std::optional<std::string>> why_unreadable(const BlockFolder& block);

// The same where a failure to read something of the block tells nothing else: false for one that may pass.
bool is_unreadable(const BlockFolder& block);

}  // namespace plimsoll::store
