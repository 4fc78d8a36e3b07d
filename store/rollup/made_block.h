// The folder of a block that is made in place of others, until it gets its name.
#pragma once

#include "base/result.h"
#include "store/blocks/block_folder.h"

namespace plimsoll::store {

// Makes the folder with an empty segments/. What a crash has left of an earlier attempt goes.
Status begin_block(const BlockFolder& made);

// Of one that has its catalogue and its segments: packs its entries (store/packed), without which it is whole, too, and syncs its folders.
Status complete_block(const BlockFolder& made);

// Removes one that is not to be.
void discard_block(const BlockFolder& made);

}  // namespace plimsoll::store
