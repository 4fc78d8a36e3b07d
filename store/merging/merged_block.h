// One block out of several neighbours, all of which are rolled up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/segment_table.h"
#include "store/copy/part.h"
#include "store/joined/dictionary_union.h"
#include "store/rollup/origin_hits.h"
#include "store/segments/row_sorter.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// Its dictionaries are the union of its members', so that an entry that all have is there once; its origins are all of theirs, in their order.
// Memory: the union, the dictionaries of one member, and 4 bytes for each entry of each member; while rows are written, what RowSorter takes.
// One thread. In this order: read(), write_rows(), write_catalogue().
class MergedBlock {
 public:
  // `members` in order. `max_entries`: stacks and locations of the union.
  MergedBlock(std::span<const BlockFolder> members, uint64_t max_entries)
      : folders_(members.begin(), members.end()), max_entries_(max_entries) {}

  // Reads dictionaries and profiles, and opens the files of rows: later merges of them change nothing. kConflict where an event has another
  // meaning than in another member, kTooLarge for more than `max_entries`, kUnavailable where `stop` is requested.
  Status read(const std::stop_token& stop);

  // Writes all rows to files of `made`, a folder that it makes, in one order. kCorrupt where an origin has other hits than its profiles came with.
  Result<std::vector<SegmentEntry>> write_rows(const BlockFolder& made, const std::stop_token& stop);

  // Makes the catalogue of `made`, with the names, symbols of kernels and accounts that the members have now: nobody may write to them
  // meanwhile. Of accounts of one binary that of the worst symbols stands, of the symbols of a kernel, and of the machine that told of a binary,
  // the first member's.
  Status write_catalogue(const BlockFolder& made, std::span<const SegmentEntry> segments, int64_t now_ns);

  // The member that the last error was found in; nothing: it is about all of them, or about what is written.
  const std::optional<size_t>& failed_member() const { return failed_; }

  uint64_t rows_before() const { return rows_before_; }
  uint64_t stacks_before() const { return stacks_before_; }
  uint64_t stacks() const { return part_.entries.stacks.size() - 1; }
  uint64_t profiles() const { return part_.rolled_up_profiles; }

 private:
  struct Member {
    DictionaryUnion::Member ids;
    std::vector<std::shared_ptr<const Segment>> segments;
    // Its origins in the union.
    size_t first_origin = 0;
    size_t end_origin = 0;
  };

  Status read_member(const BlockFolder& folder);
  Status open_segments(const BlockFolder& folder, sqlite::Database& catalogue, Member& member);
  Status add_facts(CopiedPart facts, const Member& member);
  Status add_rows(const Member& member, RowSorter& sorter, OriginHits& hits, const std::stop_token& stop);
  Status read_binaries();
  Result<std::string> directory_id();

  const std::vector<BlockFolder> folders_;
  const uint64_t max_entries_;
  std::vector<Member> members_;  // that have been read
  DictionaryUnion union_;
  CopiedPart part_;  // what is made
  uint64_t rows_before_ = 0;
  uint64_t stacks_before_ = 0;
  std::optional<size_t> failed_;
};

}  // namespace plimsoll::store
