#include "store/blocks/known_blocks.h"

#include "store/catalogue/catalogue.h"

namespace plimsoll::store {

Result<BlockState> KnownBlocks::state_of(const BlockFolder& block) {
  const Key key(block.number, block.generation);
  if (const auto known = sealed_.find(key); known != sealed_.end()) {
    return known->second;
  }
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto state = catalogue ? read_block_state(catalogue->database()) : propagate(catalogue);
  if (state && state->is_sealed) {
    sealed_.emplace(key, *state);
  }
  return state;
}

bool KnownBlocks::is_rolled_up(const BlockFolder& block) {
  if (block.generation == 0) {
    return false;
  }
  const Key key(block.number, block.generation);
  if (const auto known = rolled_up_.find(key); known != rolled_up_.end()) {
    return known->second;
  }
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto is_rolled_up = catalogue ? store::is_rolled_up(catalogue->database()) : propagate(catalogue);
  return is_rolled_up ? rolled_up_.emplace(key, *is_rolled_up).first->second : true;
}

void KnownBlocks::forget_before(int64_t number) {
  sealed_.erase(sealed_.begin(), sealed_.lower_bound({number, 0}));
  rolled_up_.erase(rolled_up_.begin(), rolled_up_.lower_bound({number, 0}));
}

}  // namespace plimsoll::store
