// Snapshots of the same blocks, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/snapshot/block_reader.h"
#include "query/snapshot/origin_index.h"
#include "query/snapshot/responses.h"
#include "query/snapshot/snapshot.h"
#include "store/frames/binding_union.h"
#include "store/rows/dictionary_union.h"

namespace plimsoll::query {

// What is known of the fleet beside the blocks.
struct FleetFacts {
  ResponseIndex::StrataOfDraw drawn_weights;
  int64_t machines_registered = 0;
  std::string draws_path = {};
  // Of all blocks, whatever was asked for; from_ns > to_ns: there are no profiles.
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  // Of the blocks that were asked for, those that are rolled up; from > to: none is.
  int64_t rolled_up_from_ns = INT64_MAX;
  int64_t rolled_up_to_ns = INT64_MIN;
  std::vector<store::DamagedPart> damaged_blocks = {};  // likewise
};

// Reads what is new alone, and shares all that is the same. IDs are the block's where there is one, else those of a union that grows: then
// the entries of sealed blocks are in memory once, as the union has them. One thread at a time.
class SnapshotSeries {
 public:
  using Readers = std::vector<std::shared_ptr<BlockReader>>;

  // At least one block, in order.
  explicit SnapshotSeries(const Readers& blocks);

  // Whether these are the blocks, or those before further ones.
  bool begins(const Readers& blocks) const;
  // begins(blocks): goes on with all of them.
  void extend_to(const Readers& blocks);
  size_t blocks() const { return members_.size(); }

  // The last one where nothing has changed.
  Result<std::shared_ptr<const Snapshot>> newest(const FleetFacts& facts,
                                                 const BeforeOpening& before_opening = {});

 private:
  struct Member {
    std::shared_ptr<BlockReader> reader;
    std::optional<int64_t> version = {};  // nothing: it has not been read
    EntriesMark mark = {};                // of the entries that are in the contents below
    int64_t reading = 0;
    std::shared_ptr<const store::LocalRows> rows = {};
    store::DictionaryUnion::Member in_dictionaries = {};
    store::BindingUnion::Member in_bindings = {};
  };
  // All of it as of the newest snapshot. Only ever extended, so that copies are cheap.
  struct Contents {
    store::Dictionaries dictionaries;
    store::Bindings bindings;
    store::DictionaryUnion dictionary_union;  // of several blocks
    store::BindingUnion binding_union;        // likewise
    OriginIndexer origins;
    ResponseIndex responses;
  };

  Result<bool> has_changed();
  Status extend(const FleetFacts& facts, const BeforeOpening& before_opening);
  Status check_loading() const;
  Status read(const BeforeOpening& before_opening);
  Status add_union(const std::vector<BlockContents>& read);
  void forget();
  std::shared_ptr<Snapshot> make(const FleetFacts& facts) const;

  std::vector<Member> members_;
  std::unique_ptr<Contents> contents_;
  std::shared_ptr<const Snapshot> last_;
};

}  // namespace plimsoll::query
