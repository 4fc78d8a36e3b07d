// Copies a data directory to an object store while it is written, so that it comes back where its disk is lost (store/care/object_restore.h).
//
// What is copied: sealed blocks, raw profiles, symbol tables, live.db, draws.db, access.db, identity and FORMAT. The newest block is not: its rows
// are built again from raw profiles. Nor are request traces, recordings of bursts, binaries and quarantine/. Of rows that are elsewhere (store/door/
// row_store.h) the manifest says where; a restored directory goes on with them.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "objects/object_store.h"
#include "store/objects/block_copier.h"
#include "store/objects/copy_draft.h"
#include "store/objects/database_copier.h"
#include "store/objects/manifest_keeper.h"
#include "store/objects/write_behind_options.h"

namespace plimsoll::store {

// Of the directory that this process writes. One thread. A pass may be ended, or fail, at any moment: what the manifest in the store names is
// whole and fits together at all times.
class WriteBehind {
 public:
  WriteBehind(std::string data_dir, std::unique_ptr<objects::ObjectStore> store,
              WriteBehindOptions options = {});
  // Its parts borrow others.
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // One pass. A part that cannot be copied, a damaged block say, is an error, and all else is copied. kConflict where the store has another
  // directory, or another process has begun to write it.
  Result<WriteBehindReport> run();

 private:
  Status begin();

  const std::string data_dir_;
  const std::unique_ptr<objects::ObjectStore> store_;
  const WriteBehindOptions options_;
  CopyDraft draft_;
  ManifestKeeper keeper_;
  DatabaseCopier databases_;
  BlockCopier blocks_;
};

}  // namespace plimsoll::store
