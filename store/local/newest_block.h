// The block that takes rows: the sink of a data directory.
//
// A batch is one segment and one transaction of the catalogue. A crash at any moment shows nothing twice: what the catalogue does not have yet
// is built again, and a segment file without a row of the catalogue is removed when the directory is opened. An epoch is a block: one that is
// large or old enough is sealed, and the next one is begun.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/fair_mutex.h"
#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/door/sink.h"
#include "store/segments/row_order.h"

namespace plimsoll::store {

using CatalogueWork = std::function<Status(sqlite::Database& catalogue)>;

// Committed if it succeeds.
Status write_in_transaction(sqlite::Database& catalogue, const CatalogueWork& work);

class NewestBlock : public Sink {
 public:
  // The last of `blocks`. It may have nothing yet, and not know itself what those before it have. `now_ns` is the wall clock, by which blocks
  // grow old.
  static Result<std::unique_ptr<NewestBlock>> open(std::string blocks_path,
                                                   std::span<const BlockFolder> blocks,
                                                   const BlockLimits& limits,
                                                   std::function<int64_t()> now_ns);

  int64_t committed_up_to() const override { return committed_up_to_; }
  Result<Place> begin(bool is_profile_waiting) override;
  Result<Dictionaries> dictionaries() override;
  Status commit(Batch batch) override;

  // What commit() does, but for the segment, and rolled back: for the trial of a profile that may end the process.
  Status rehearse(Batch batch);

  // An earlier block is sealed for good. Any thread.
  int64_t number() const { return number_; }

  // Runs `work` in one transaction of the catalogue, beside others that build a batch; nothing where the newest block is another by now. Any
  // thread.
  std::optional<Status> write(const BlockFolder& block, const CatalogueWork& work);

 private:
  struct Opened {
    BlockFolder folder;
    Catalogue catalogue;
    BlockState state;                      // as committed
    std::optional<DictionarySizes> sizes;  // likewise; nothing: not read yet
    std::unique_ptr<RowOrder> order;       // of the workloads; none: not read yet
    // File of a commit that failed. After a crash it may be done all the same, since the log has it before it is synced: it stays until another
    // commit is done, or the directory is opened.
    std::string doubtful_segment;
  };
  class Undo;

  NewestBlock(std::string blocks_path, const BlockLimits& limits, std::function<int64_t()> now_ns,
              Opened block, int64_t committed_up_to)
      : blocks_path_(std::move(blocks_path)),
        limits_(limits),
        now_ns_(std::move(now_ns)),
        block_(std::move(block)),
        number_(block_.folder.number),
        committed_up_to_(committed_up_to) {}

  static Result<Opened> open_block(const BlockFolder& folder);
  Status seal_if_old();
  Status begin_next();
  Result<DictionarySizes> sizes();
  Status expect_place(const Batch& batch);
  Status write_facts(const Batch& batch);
  Status extend_order(const NewEntries& entries);
  Status write_segment(Batch& batch, Undo& undo);
  Result<BlockState> state_after(const NewEntries& entries);
  Result<uint64_t> bytes_of_block();

  const std::string blocks_path_;
  const BlockLimits limits_;
  const std::function<int64_t()> now_ns_;
  // A builder with much to do takes it again at once; merges and names have their turns in between.
  FairMutex mutex_;
  Opened block_;  // protected by mutex_
  std::atomic<int64_t> number_;
  std::atomic<int64_t> committed_up_to_;
};

}  // namespace plimsoll::store
