// The way in: raw profiles are accepted, then become rows.
//
//   accept()         decodes and checks a profile, and stores it durably: afterwards it is safe        store/accepting
//   build_pending()  turns accepted profiles into a batch, which a sink commits at once                store/building, store/door/sink.h
//
// The sink of a data directory is its newest block (store/local), unless its rows are elsewhere (store/door/row_store.h). A crash at any moment loses nothing that was accepted and shows nothing
// twice: what the sink does not have yet is built again. The segments that come of it are small; store/compaction merges them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/process_memory.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/profile_codec.h"
#include "store/accepting/profile_acceptor.h"
#include "store/archive/archive.h"
#include "store/blocks/block_folder.h"
#include "store/building/building_mark.h"
#include "store/building/pending_builder.h"
#include "store/directory/data_directory.h"
#include "store/door/row_store.h"
#include "store/identity/directory_identity.h"
#include "store/live/live_machines.h"
#include "store/local/local_blocks.h"

namespace plimsoll::store {

struct IngestOptions {
  // For the rows of one profile, where they are tried. As parsed it has 1 GiB at most (proto/parse_cost.h).
  uint64_t trial_memory_bytes = uint64_t{4} << 30;
  BlockLimits block_limits = {};
  UploadLimits upload_limits = {};
  // Where a directory without rows is to have them; kConflict for one that has its rows somewhere else, or on a shard that is not listed. Later it is
  // known where they are.
  RowsAddress rows = {};
  // The wall clock, by which blocks grow old.
  std::function<int64_t()> now_ns = wall_now_ns;
};

// A data directory as the process that writes it has it: puts together what accepts, builds and holds.
class Ingest {
 public:
  // Where the process before this one ended while it built a profile, that one is tried alone, in a process of its own: it is set aside if
  // it takes that one down too, and is not to blame otherwise. Before any thread is made: it forks.
  static Result<std::unique_ptr<Ingest>> open(const std::string& data_dir, const IngestOptions& options = {});

  // For rows that are built again: of the profiles up to `up_to`, beyond those that `block` has already and says that earlier blocks have. The
  // block is in no row; it grows as large as they make it, and is sealed by who calls. Only build_pending() may be called. Before any thread is
  // made, since a profile at which a process ended is tried here too. The directory stays the caller's, and open.
  static Result<std::unique_ptr<Ingest>> open_for_rebuilding(const DataDirectory& directory,
                                                             const BlockFolder& block, int64_t up_to,
                                                             const IngestOptions& options = {});

  // Any thread; see ProfileAcceptor. `check`, where given, sees the decoded profile before it is stored, and can refuse it.
  Result<Accepted> accept(Bytes encoded, const wire::ProfileLimits& limits, const ProfileCheck& check = {}) {
    return acceptor_.accept(encoded, limits, check);
  }
  Result<Accepted> accept_upload(Bytes encoded, const wire::ProfileLimits& limits,
                                 const ProfileCheck& check = {}) {
    return acceptor_.accept_upload(encoded, limits, check);
  }

  // Any thread; see PendingBuilder.
  Result<BuildReport> build_pending() { return builder_.build_pending(); }
  // For tests (PendingBuilder::on_building()).
  void on_building(std::function<void(const ArchivedProfile& profile)> call) {
    builder_.on_building(std::move(call));
  }

  // Up to which profile of the archive rows are there, or what stands in their way is noted. Any thread.
  int64_t built_up_to() const { return sink().committed_up_to(); }

  // Null: rows are in the directory.
  RowStore* row_store() { return row_store_.get(); }

  // Runs `work` on the machines that have registered. Any thread; does not wait for a batch that is being built.
  template <typename Work>
  auto with_machines(const Work& work) {
    const std::lock_guard lock(machines_mutex_);
    return work(machines_);
  }

  // Now, at a moment when all that machines were heard to say before is written, and all that is written later will be of later times.
  int64_t settled_now_ns() {
    return with_machines([](const LiveMachines&) { return wall_now_ns(); });
  }

  // Of raw profiles. Any thread may call it.
  Archive& archive() { return *archive_; }

  // Of all blocks, the newest last; see LocalBlocks, as for those below. Any thread.
  Result<std::vector<BlockFolder>> blocks() const { return blocks_->list(); }
  Status write_catalogue(const BlockFolder& block, const CatalogueWork& work) {
    return blocks_->write_catalogue(block, work);
  }
  Status drop_block(const BlockFolder& block) { return blocks_->drop(block); }
  bool is_dropped(const BlockFolder& block) const { return blocks_->is_dropped(block); }
  Result<BlockFolder> replace_blocks(std::span<const BlockFolder> blocks,
                                     const LocalBlocks::Completion& complete) {
    return blocks_->replace(blocks, complete);
  }

  const DataDirectory& directory() const { return directory_; }

 private:
  // What is open of a directory.
  struct Files {
    DataDirectory directory;
    BuildingMark mark;
    std::unique_ptr<Archive> archive;
    std::unique_ptr<Archive> accepted;  // the same, for reading
    std::unique_ptr<LocalBlocks> blocks;
    std::unique_ptr<RowStore> row_store;  // null: rows are in the blocks
    LiveMachines machines;
  };

  Ingest(Files files, const IngestOptions& options);

  using Opening = std::function<Result<std::unique_ptr<Ingest>>()>;
  static Result<std::unique_ptr<Ingest>> open_files(DataDirectory directory, BuildingMark mark,
                                                    const IngestOptions& options,
                                                    const BlockFolder* only = nullptr);
  static Result<std::unique_ptr<RowStore>> open_row_store(const DataDirectory& directory,
                                                          const LocalBlocks& blocks, Archive& archive,
                                                          const IngestOptions& options);
  const Sink& sink() const { return row_store_ != nullptr ? row_store_->sink() : blocks_->newest(); }
  static std::optional<std::string> why_it_ends_processes(int64_t sequence, const Opening& open,
                                                          const IngestOptions& options);

  // Of all profiles as they are decoded and built. Those of most machines take less than is counted, and never wait.
  static constexpr uint64_t kMaxDecodedBytes = uint64_t{512} << 20;
  MemoryBudget memory_{memory_share(kMaxDecodedBytes, 8), PendingBuilder::kMaxSmallBytes};

  DataDirectory directory_;
  std::unique_ptr<Archive> archive_;
  std::unique_ptr<Archive> accepted_;
  std::unique_ptr<LocalBlocks> blocks_;
  std::unique_ptr<RowStore> row_store_;
  std::mutex machines_mutex_;
  LiveMachines machines_;  // protected by machines_mutex_
  ProfileAcceptor acceptor_;
  PendingBuilder builder_;
};

}  // namespace plimsoll::store
