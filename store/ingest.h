// The way in: raw profiles are accepted, then become rows.
//
//   accept()         decodes and checks a profile, and stores it durably: afterwards it is safe
//   build_pending()  turns accepted profiles into a segment, and makes it visible in one transaction
//
// A crash at any moment loses nothing that was accepted and shows nothing twice: what the catalogue does not know yet
// is built again, and segment files without a catalogue row are removed when the directory is opened. The segments that
// come of it are small; store/compaction/compactor.h merges them. Rows go to the newest block, until it is large or old enough (store/blocks).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fair_mutex.h"
#include "base/memory_budget.h"
#include "base/process_memory.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/profile_codec.h"
#include "store/archive/archive.h"
#include "store/blocks/block_folder.h"
#include "store/building/building_mark.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/dictionaries/dictionary_writer.h"
#include "store/directory/data_directory.h"
#include "store/live/live_machines.h"
#include "store/model/row.h"
#include "store/segments/row_order.h"

namespace plimsoll::store {

struct Accepted {
  Acceptance acceptance;
  std::string profile_id;
  uint64_t hits;
};

struct BuildReport {
  uint64_t profiles = 0;
  uint64_t rows = 0;
  uint64_t unbuildable = 0;  // profiles set aside with a reason (table `unbuildable`)
};

// Of profiles that daemons send. Those that somebody imports have none.
struct UploadLimits {
  // Since the profile's window ended: a daemon that has spooled it for longer is told so. The server need not remember longer which profiles
  // it has.
  int64_t max_age_ns = INT64_MAX;
  // Where less is free on the disk, or raw profiles take more, daemons have to keep what they have for now.
  int64_t min_free_bytes = 0;
  int64_t max_archive_bytes = INT64_MAX;
};

struct IngestOptions {
  // For the rows of one profile, where they are tried. As parsed it has 1 GiB at most (proto/parse_cost.h).
  uint64_t trial_memory_bytes = uint64_t{4} << 30;
  BlockLimits block_limits = {};
  UploadLimits upload_limits = {};
  // The wall clock, by which blocks grow old.
  std::function<int64_t()> now_ns = wall_now_ns;
};

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

  // Any thread. kUnavailable while other profiles hold the memory that this one takes. `check`, where given, sees the decoded profile
  // before it is stored, and can refuse it.
  using Check = std::function<Status(const wire::RawProfile& profile)>;
  Result<Accepted> accept(Bytes encoded, const wire::ProfileLimits& limits, const Check& check = {});

  // Likewise, from a daemon. kUnavailable too while the disk or the archive is full (UploadLimits); kInvalid where it comes too late.
  Result<Accepted> accept_upload(Bytes encoded, const wire::ProfileLimits& limits, const Check& check = {});

  // Builds one batch: what is pending, up to a bound. Zero profiles: nothing was pending. A large profile for which there is not the
  // memory twice is set aside, so that the others are built; kTooLarge the first time. Where there is none for a small one others have
  // taken it, and it is built once they are done.
  Result<BuildReport> build_pending();
  // Called before each profile becomes rows, once it is decoded, in the thread that builds; what it throws is met as what building throws. For tests.
  std::function<void(const ArchivedProfile& profile)> on_building = {};

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

  // Up to which profile of the archive rows are there, or what stands in their way is noted. Any thread.
  int64_t built_up_to() const { return built_up_to_; }

  // Of raw profiles. Any thread may call it.
  Archive& archive() { return *archive_; }

  // Of all blocks, the newest last. Any thread.
  Result<std::vector<BlockFolder>> blocks() const { return list_blocks(directory_.blocks_path()); }

  // Runs `work` in one write transaction of a block's catalogue, committed if it succeeds. Any thread; waits for other work of this kind,
  // and for the newest block while a batch is being built.
  using CatalogueWork = std::function<Status(sqlite::Database& catalogue)>;
  Status write_catalogue(const BlockFolder& block, const CatalogueWork& work);

  // Drops a block, the oldest one, which is not the newest; nothing is written to it meanwhile. Work on it that goes on finds it gone
  // (kNotFound), and so does a caller that has a generation of it that was replaced. Any thread.
  Status drop_block(const BlockFolder& block);

  // Whether it was there once, and has been dropped, or replaced by another generation of it.
  bool is_dropped(const BlockFolder& block) const;

  // Puts what was made at replacement_of(block) in the place of a block that takes no more rows, once `complete` has put there what may
  // change until then (bindings): nothing is written to such blocks meanwhile. Any thread. kNotFound where the block is not there any more.
  using Completion = std::function<Status(const BlockFolder& replacement)>;
  Result<BlockFolder> replace_block(const BlockFolder& block, const Completion& complete);

  const DataDirectory& directory() const { return directory_; }

 private:
  // The one that takes rows.
  struct NewestBlock {
    BlockFolder folder;
    Catalogue catalogue;
    BlockState state;                                // as committed
    std::unique_ptr<DictionaryWriter> dictionaries;  // absent: to be loaded
    RowOrder order;                                  // of the workloads in them
  };

  Ingest(DataDirectory directory, const IngestOptions& options, BuildingMark mark,
         std::unique_ptr<Archive> archive, std::unique_ptr<Archive> accepted, NewestBlock block,
         LiveMachines machines)
      : block_limits_(options.block_limits),
        upload_limits_(options.upload_limits),
        now_ns_(options.now_ns),
        directory_(std::move(directory)),
        mark_(std::move(mark)),
        archive_(std::move(archive)),
        accepted_(std::move(accepted)),
        machines_(std::move(machines)),
        block_(std::move(block)),
        newest_(block_.folder.number) {}

  using Opening = std::function<Result<std::unique_ptr<Ingest>>()>;
  static Result<std::unique_ptr<Ingest>> open_files(DataDirectory directory, BuildingMark mark,
                                                    const IngestOptions& options,
                                                    const BlockFolder* only = nullptr);
  static Result<NewestBlock> open_newest(const BlockFolder& folder);
  static std::optional<std::string> why_it_ends_processes(int64_t sequence, const Opening& open,
                                                          const IngestOptions& options);
  Result<Accepted> accept_as(Arrival arrival, Bytes encoded, const wire::ProfileLimits& limits,
                             const Check& check);
  Status check_room();
  Status check_age(const wire::RawProfile& profile) const;
  Status find_last_built(const std::vector<BlockFolder>& blocks);
  Status load_dictionaries();
  Status make_room();
  Result<bool> is_due_by_age();
  Result<uint64_t> bytes_of_block();
  uint64_t entries_of_block() const;
  void build_without_keeping(int64_t sequence);
  static Status remove_orphans(const BlockFolder& block);
  static Status expect_current(const BlockFolder& block);
  Result<BuildReport> build_without_exceptions(std::string& segment_path);
  Result<BuildReport> build_batch(std::string& segment_path);
  Status build_profile(const ArchivedProfile& archived, std::vector<Row>& rows, BuildReport& report);
  std::string encode_rows(std::vector<Row> rows);
  Status write_segment(std::vector<Row> rows, std::string& segment_path);
  Status write_state(size_t first_new_origin, BlockState& state);

  // Of all profiles as they are decoded and built. Those of most machines take less than is counted, and never wait.
  static constexpr uint64_t kMaxDecodedBytes = uint64_t{512} << 20;
  static constexpr uint64_t kUncountedBytes = uint64_t{8} << 20;
  MemoryBudget memory_{memory_share(kMaxDecodedBytes, 8), kUncountedBytes};

  const BlockLimits block_limits_;
  const UploadLimits upload_limits_;
  const std::function<int64_t()> now_ns_;
  DataDirectory directory_;
  BuildingMark mark_;  // protected by catalogue_mutex_
  std::unique_ptr<Archive> archive_;
  // The same, for reading: building rows does not wait for the disk that profiles are being accepted to.
  std::unique_ptr<Archive> accepted_;

  std::mutex machines_mutex_;
  LiveMachines machines_;  // protected by machines_mutex_

  // A builder with much to do takes it again at once; merges and names have their turns in between.
  FairMutex catalogue_mutex_;
  std::mutex sealed_mutex_;               // of writing to blocks that take no more rows
  NewestBlock block_;                     // protected by catalogue_mutex_
  std::atomic<int64_t> newest_;           // its number: an earlier block is sealed for good
  int64_t last_built_ = 0;                // protected by catalogue_mutex_; archive sequence
  int64_t build_up_to_ = INT64_MAX;       // set once
  std::atomic<int64_t> built_up_to_ = 0;  // as last_built_ was committed
  // Of the profile that was being built when the newest exception came, and how often it was a large one; likewise.
  struct Trouble {
    int64_t sequence = 0;
    int times = 0;
    std::string what;
  };
  // The profile at which the process before this one ended; likewise.
  struct EndedAt {
    int64_t sequence = 0;
    std::optional<std::string> why_set_aside;  // nothing: it was not to blame
  };
  int64_t building_ = 0;
  bool building_is_large_ = false;  // or it is not known yet what it takes
  Trouble trouble_;
  EndedAt ended_at_;
};

}  // namespace plimsoll::store
