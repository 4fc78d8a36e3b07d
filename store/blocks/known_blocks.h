// What blocks say of themselves, read once where it does not change any more.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"

namespace plimsoll::store {

// Opens the catalogue of a block that it does not know, and remembers sealed ones. One thread at a time.
class KnownBlocks {
 public:
  Result<BlockState> state_of(const BlockFolder& block);

  // A later generation that was damaged and rebuilt has full rows. One that cannot be read counts as rolled up.
  bool is_rolled_up(const BlockFolder& block);

  // What is known of blocks with lower numbers.
  void forget_before(int64_t number);

 private:
  using Key = std::pair<int64_t, int64_t>;  // number, generation
  std::map<Key, BlockState> sealed_;
  std::map<Key, bool> rolled_up_;  // of later generations
};

}  // namespace plimsoll::store
