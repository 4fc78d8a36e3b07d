// Blocks: the self-contained parts of a data directory, each a folder below blocks/ with its own catalogue and segments.
//
//   blocks/000007/catalogue.db   its dictionaries, visible segments, bindings; what time it covers (store/catalogue)
//   blocks/000007/segments/      its rows (store/segments)
//   blocks/000007.1/             the same block, rolled up (store/rollup): what has a lower generation counts no more
//   blocks/000001-000008.2/      blocks 1 to 8, merged into one: it has the number of the last of them, and they count no more
//
// Profiles go to the newest block, in the order in which they were accepted: a late one needs no older block. A block that is large or old
// enough is sealed in the transaction of its last profiles, and the next one is made before more are built.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// No two blocks have the same number and generation: what is remembered of a block goes by both. A merged one has the number of the last block
// in it, and other IDs than that one had.
struct BlockFolder {
  int64_t number = 0;  // from 1; a later one has later profiles
  std::string path;
  int64_t generation = 0;  // how often it was rewritten as a whole
  int64_t first = number;  // of the blocks that it took the place of: less where several were merged

  std::string catalogue_path() const { return path + "/catalogue.db"; }
  std::string segments_path() const { return path + "/segments"; }
  // Of the folder: "000007", "000007.1", "000001-000008.2".
  std::string name() const { return path.substr(path.rfind('/') + 1); }
  // For messages, whatever its generation: "000007", "000001-000008".
  std::string numbers() const;

  bool is_merged() const { return first < number; }
  // Whether it is the block of that number, or has the rows that it had.
  bool covers(int64_t other) const { return first <= other && other <= number; }

  bool operator==(const BlockFolder&) const = default;
};

// The block that a folder of that path is, by its name alone, which must be as this program writes it; number 0: it is none.
BlockFolder block_at(const std::string& path);

// Whether `older` counts no more where `newer` is there: newer has its number in its range, and is the later one by number and generation.
bool replaces(const BlockFolder& newer, const BlockFolder& older);

struct BlockFolders {
  std::vector<BlockFolder> current;   // what counts, in order
  std::vector<BlockFolder> replaced;  // by another one of all, in order: their files stay for a while
};

// Parts all folders of blocks in a row, in any order, by replaces(). What is missing between them is not looked at.
BlockFolders part_folders(std::vector<BlockFolder> folders);

// Those that count, in order, at least one; each begins with the number behind the one before it. What has another name than a block's is
// passed over. kCorrupt where one is missing; what is in them is not looked at.
Result<std::vector<BlockFolder>> list_blocks(const std::string& blocks_path);

// Where what takes the place of blocks, which are neighbours in a row and in its order, is while it is being made: no block's name. One block
// becomes its next generation; several become one with the number of the last of them, and its next generation.
BlockFolder replacement_of(std::span<const BlockFolder> blocks);
BlockFolder replacement_of(const BlockFolder& block);

// Gives a block that was made there (replacement_of()), and is on disk, the name by which it takes their place, durably, at one moment: until
// then they count, and from then on the new one. Their files stay until remove_replaced() or drop_block(): who has just listed them finds
// them.
Result<BlockFolder> publish_replacement(const std::string& blocks_path, std::span<const BlockFolder> blocks);

// Whether one that took its place is there. Lists the folder.
Result<bool> is_replaced(const BlockFolder& block);

// Removes what has been replaced, and what a crash has left of replacements, of blocks that were being made, and beside blocks that are in the
// row no more: while none is being made. What has been replaced goes only where what took its place is sealed and can be read: otherwise that
// one is moved to quarantine/ if all that it took the place of is there and can be read, and all stay if not.
Status remove_replaced(const std::string& blocks_path);

// Makes one without profiles, durably: it is there as a whole or not at all. What a crash has left of an earlier attempt goes; one that is
// there stays as it is.
//
// It knows up to which profile earlier blocks go, so that they may be dropped. Some of `before`, the block before it, is carried over: events,
// since they have one meaning in all blocks; symbols of kernels, which daemons send once; and the ID of the directory. Those of a kernel
// without a sample since they were carried over last are not.
Result<BlockFolder> make_block(const std::string& blocks_path, int64_t number, sqlite::Database& before);
Result<BlockFolder> make_first_block(const std::string& blocks_path);
// As make_block() does, of a catalogue that is `fill`'s: it makes it in a folder that has an empty segments/, and closes it again.
Result<BlockFolder> make_block_by(const std::string& blocks_path, int64_t number,
                                  const std::function<Status(const BlockFolder& made)>& fill);

// Takes a block out of the row, durably, and then removes its files: it is there as a whole or not at all. Who has files of it open goes on
// reading them. Only the first of a row, and never the last, may go. Earlier generations of it go first, so that none comes back;
// what a repair has left beside it goes with its last generation. Where another thread drops it, that one does.
Status drop_block(const std::string& blocks_path, const BlockFolder& block);

// Where a block is made in place of that one, whatever its generation: blocks/NNNNNN.rebuilt.
BlockFolder beside(const BlockFolder& block);

// A block that is made in place of one in the row: beside it, until it takes its place. It knows that earlier blocks go up to
// `accepted_before`; events and symbols of kernels are those of `events_from`, if given, and the directory's ID is `directory_id`. One that a
// crash has left, not sealed yet and of the same `accepted_before`, is gone on with, and another that is not sealed goes. kConflict where
// what is there is sealed, or cannot be read: it may be what another took the place of.
Result<BlockFolder> make_replacement(const std::string& blocks_path, const BlockFolder& block,
                                     sqlite::Database* events_from, int64_t accepted_before,
                                     std::string_view directory_id);

// Whether there is one, or what it took the place of.
Result<bool> has_replacement(const BlockFolder& block);

// At one moment, durably: there is no other in between. What stood in the row stands beside it then. Nobody may be writing or reading either.
// kUnsupported on a file system that cannot.
Status take_place(const std::string& blocks_path, const BlockFolder& block);

// Removes what stands beside a block, or moves it to `keep_at` if that is given; durably.
Status remove_replaced(const std::string& blocks_path, const BlockFolder& block,
                       const std::string& keep_at = {});

// Removes what a crash has left of blocks that were being dropped.
Status remove_dropped(const std::string& blocks_path);

// Moves the catalogue and the segments of a format without blocks, which stand in the data directory itself, into its first block.
// Goes on where a crash has interrupted it; does nothing where it is done. kUnavailable while somebody reads the catalogue; a program of
// an older version that has it open and reads nothing goes unnoticed, and has to be started again.
Status move_into_first_block(const std::string& data_dir, const std::string& blocks_path);

// What an entry of a dictionary takes in memory, with its place in an index.
inline constexpr uint64_t kEntryBytes = 100;

// When a block takes no more.
struct BlockLimits {
  // Of its catalogue and its segments.
  uint64_t max_bytes = uint64_t{512} << 20;
  // Of its dictionaries. Where stacks repeat, as those of programs do, other limits come first; where a stranger makes up stacks, this one
  // bounds the memory of the row builder and of each question.
  uint64_t max_entries = 4'000'000;
  uint64_t max_profiles = 500'000;
  int64_t max_age_ns = int64_t{24} * 3600 * 1'000'000'000;  // since its first profile became rows
};

}  // namespace plimsoll::store
