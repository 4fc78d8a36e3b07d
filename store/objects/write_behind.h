// Copies a data directory to an object store while it is written, so that it comes back where its disk is lost (store/care/object_restore.h).
//
// What is copied: sealed blocks, raw profiles, symbol tables, live.db, draws.db, access.db, identity and FORMAT. The newest block is not: its rows
// are built again from raw profiles. Nor are request traces, recordings of bursts, binaries and quarantine/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "objects/object_store.h"
#include "store/archive/archive.h"
#include "store/blocks/block_folder.h"
#include "store/blocks/known_blocks.h"
#include "store/objects/manifest.h"
#include "store/objects/profile_pack.h"

namespace plimsoll::store {

struct WriteBehindOptions {
  // For how long objects stay of what retention has dropped from the directory.
  int64_t keep_dropped_ns = int64_t{7} * 24 * kNsPerHour;
  // From one copy of a database to the next: live.db changes all the time.
  int64_t database_pause_ns = 5 * kNsPerMinute;
  // A pack that is smaller is replaced by a larger one when profiles come.
  uint64_t pack_bytes = uint64_t{16} << 20;
  // Of a pass, about: it ends once it has put so many.
  uint64_t pass_bytes = uint64_t{256} << 20;
  std::function<int64_t()> now_ns = wall_now_ns;
};

struct WriteBehindReport {
  uint64_t files = 0;  // that were put
  uint64_t bytes = 0;
  bool is_complete = true;  // false: another pass has to follow
};

// Of the directory that this process writes. One thread. A pass may be ended, or fail, at any moment: what the manifest in the store names is
// whole and fits together at all times.
class WriteBehind {
 public:
  WriteBehind(std::string data_dir, std::unique_ptr<objects::ObjectStore> store,
              WriteBehindOptions options = {});

  // One pass. A part that cannot be copied, a damaged block say, is an error, and all else is copied. kConflict where the store has another
  // directory, or another process has begun to write it.
  Result<WriteBehindReport> run();

 private:
  struct OpenFile {
    std::string path;
    UniqueFd file;
  };
  struct CopiedBlock {
    std::vector<std::string> paths;   // of all segments
    std::vector<OpenFile> new_files;  // of those that the store lacks
    int64_t built_up_to = 0;
  };

  Status begin();
  Result<std::vector<BlockFolder>> sealed_blocks();
  Status copy_identity();
  Status copy_database(const std::string& name);
  Status copy_packs();
  Result<ProfilePack> next_pack(Archive& archive, int64_t after) const;
  void drop_packs(int64_t oldest_sequence);
  Status copy_symbol_tables();
  Status copy_blocks(const std::vector<BlockFolder>& blocks);
  Status copy_block(const BlockFolder& block);
  Result<CopiedBlock> open_block(const BlockFolder& block, const std::string& catalogue_copy);
  void drop_blocks_before(int64_t number);

  Status put(const std::string& path, Bytes content, int64_t version);
  bool is_over_budget();
  Status expect_own_manifest();
  Status write_manifest();
  Status remove_unlisted();
  std::string temporary_path(const std::string& name) const;

  const std::string data_dir_;
  const std::unique_ptr<objects::ObjectStore> store_;
  const WriteBehindOptions options_;
  const std::string writer_;
  KnownBlocks known_blocks_;
  bool has_begun_ = false;
  bool has_removed_unlisted_ = false;  // what processes before this one put and no manifest names
  std::string found_writer_;  // of the manifest that this process goes on with; empty: there was none
  Manifest manifest_;         // in the store
  int64_t next_databases_ns_ = 0;
  // Of the pass that runs:
  Manifest draft_;
  WriteBehindReport report_;
  std::vector<std::pair<std::string, StoredFile>> put_;  // since the newest manifest was written
};

}  // namespace plimsoll::store
