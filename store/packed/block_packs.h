// The packed entries of blocks (store/packed/entry_pack.h): who may use them, and who writes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/blocks/block_folder.h"
#include "store/packed/entry_pack.h"

namespace plimsoll::store {

// blocks/NNNNNN/entries.packed
std::string entry_pack_path(const BlockFolder& block);

// That of a sealed block, if it is there and has what the catalogue has; a damaged one is named in the log. Bindings of the catalogue may be
// newer.
std::optional<EntryPack> usable_pack(const BlockFolder& block, sqlite::Database& catalogue);

// Writes it, durably, from the catalogue. Of a sealed block; takes as much memory as its dictionaries do. What a crash has left of
// an earlier attempt goes.
Status pack_block(const BlockFolder& block);

// Keeps the files of all sealed blocks as they should be. One thread, of the process that writes the directory.
class BlockPacker {
 public:
  // Writes that of the first block that has none, a damaged one, or one of many bindings ago. Gives its number; 0: none is due. What fails
  // is given after all others were looked at, and tried again where the disk was full. Each file is
  // read once, when it is first met: later a call costs a look at the catalogue's file for each block.
  Result<int64_t> run_once(std::span<const BlockFolder> blocks);

 private:
  Result<bool> is_due(const BlockFolder& block);

  using Key = std::pair<int64_t, int64_t>;  // number and generation

  std::map<Key, int64_t> checked_;  // versions of catalogues' files
  std::map<Key, int> written_;      // how often, since it was last found to be as it should be
  std::set<Key> unfit_;             // whose catalogues could not be read
};

}  // namespace plimsoll::store
