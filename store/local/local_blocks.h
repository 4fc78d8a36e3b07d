// The blocks of a data directory, for the process that writes it: who may write to which, drop one, or put another in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/local/newest_block.h"

namespace plimsoll::store {

// Any thread, but for remove_leftovers().
class LocalBlocks {
 public:
  // `only`: the block that takes rows, which is in no row of blocks; else it is the newest of those there are.
  static Result<std::unique_ptr<LocalBlocks>> open(const std::string& blocks_path, const BlockLimits& limits,
                                                   std::function<int64_t()> now_ns,
                                                   const BlockFolder* only = nullptr);

  // Takes batches; one thread at a time, as Sink has it.
  NewestBlock& newest() { return *newest_; }
  const NewestBlock& newest() const { return *newest_; }

  // The newest last.
  Result<std::vector<BlockFolder>> list() const { return list_blocks(blocks_path_); }

  // Removes what a crash has left: of blocks that were dropped or replaced, and segments that no catalogue shows. A damaged block that takes no
  // more rows is left as it is, and said to be. Before anything else is done with them.
  Status remove_leftovers() const;

  // Runs `work` in one write transaction of a block's catalogue, committed if it succeeds. Waits for other work of this kind, and for the
  // newest block while a batch is being committed. Of a block that takes no more rows it lists the folder of blocks: kNotFound where the block was
  // dropped, replaced or merged.
  Status write_catalogue(const BlockFolder& block, const CatalogueWork& work);

  // Drops a block, the oldest one, which is not the newest; nothing is written to it meanwhile. Work on it that goes on finds it gone
  // (kNotFound), and so does a caller that has a generation of it that was replaced.
  Status drop(const BlockFolder& block);

  // Whether it was there once, and has been dropped, or another one took its place.
  bool is_dropped(const BlockFolder& block) const;

  // Puts what was made at replacement_of(blocks) in the place of blocks that take no more rows, one or several that follow each other, once
  // `complete` has put there what may change until then (bindings): nothing is written to such blocks meanwhile. kNotFound where one of them was
  // dropped or replaced, kConflict where an interrupted repair of one has left something beside it, kInvalid where they are not neighbours, or
  // the last takes rows; then `complete` is not called.
  using Completion = std::function<Status(const BlockFolder& replacement)>;
  Result<BlockFolder> replace(std::span<const BlockFolder> blocks, const Completion& complete);

 private:
  LocalBlocks(std::string blocks_path, std::unique_ptr<NewestBlock> newest)
      : blocks_path_(std::move(blocks_path)), newest_(std::move(newest)) {}

  static Status expect_current(const BlockFolder& block);
  Status expect_replaceable(std::span<const BlockFolder> blocks) const;

  const std::string blocks_path_;
  const std::unique_ptr<NewestBlock> newest_;
  std::mutex sealed_mutex_;  // of writing to blocks that take no more rows
};

}  // namespace plimsoll::store
