// Files of a block that its catalogue does not show.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "store/blocks/block_folder.h"

namespace plimsoll::store {

// Removes what is in the block's segments/ and not among the `visible` names: what a crash has left. Goes on where one cannot be removed, and
// returns why the first could not. While nothing writes to the block.
Status remove_hidden_files(const BlockFolder& block, const std::set<std::string>& visible);

}  // namespace plimsoll::store
