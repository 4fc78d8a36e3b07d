// Blocks: the self-contained parts of a data directory, each a folder below blocks/ with its own catalogue and segments.
//
//   blocks/000007/catalogue.db   its dictionaries, visible segments, bindings; what time it covers (store/catalogue)
//   blocks/000007/segments/      its rows (store/rows)
//
// Profiles go to the newest block, in the order in which they were accepted: a late one needs no older block. A block that is large or old
// enough is sealed in the transaction of its last profiles, and the next one is made before more are built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace plimsoll::store {

struct BlockFolder {
  int64_t number = 0;  // from 1, without gaps; a later one has later profiles
  std::string path;

  std::string catalogue_path() const { return path + "/catalogue.db"; }
  std::string segments_path() const { return path + "/segments"; }
};

// In order, at least one. What has another name than a block's is passed over. kCorrupt where one is missing; what is in
// them is not looked at.
Result<std::vector<BlockFolder>> list_blocks(const std::string& blocks_path);

// Makes one without profiles, durably: it is there as a whole or not at all. What a crash has left of an earlier attempt goes; one that is
// there stays as it is.
//
// It knows up to which profile earlier blocks go, so that they may be dropped. Some of `before`, the block before it, is carried over: events,
// since they have one meaning in all blocks; symbols of kernels, which daemons send once; and the ID of the directory. Those of a kernel
// without a sample since they were carried over last are not.
Result<BlockFolder> make_block(const std::string& blocks_path, int64_t number, sqlite::Database& before);
Result<BlockFolder> make_first_block(const std::string& blocks_path);

// Takes a block out of the row, durably, and then removes its files: it is there as a whole or not at all. Who has files of it open goes on
// reading them. Only the first of a row, and never the last, may go.
Status drop_block(const std::string& blocks_path, const BlockFolder& block);

// Removes what a crash has left of blocks that were being dropped.
Status remove_dropped(const std::string& blocks_path);

// Moves the catalogue and the segments of a format without blocks, which stand in the data directory itself, into its first block.
// Goes on where a crash has interrupted it; does nothing where it is done. kUnavailable while somebody reads the catalogue; a program of
// an older version that has it open and reads nothing goes unnoticed, and has to be started again.
Status move_into_first_block(const std::string& data_dir, const std::string& blocks_path);

// When a block takes no more.
struct BlockLimits {
  // Of its catalogue and its segments.
  uint64_t max_bytes = uint64_t{512} << 20;
  // Of its dictionaries. Where stacks repeat, as those of programs do, other limits come first; where a stranger makes up stacks, this one
  // bounds the memory of the row builder and of each question: about 100 bytes for each.
  uint64_t max_entries = 4'000'000;
  uint64_t max_profiles = 500'000;
  int64_t max_age_ns = int64_t{24} * 3600 * 1'000'000'000;  // since its first profile became rows
};

}  // namespace plimsoll::store
