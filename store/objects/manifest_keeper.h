// The manifest in an object store, of the one process that may write it.
#pragma once

#include <string>

#include "base/result.h"
#include "objects/object_store.h"
#include "store/objects/copy_draft.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {

// Writes drafts in place of each other, and removes objects that no manifest names any more: after the one without them was written. One
// thread. Borrows the store.
class ManifestKeeper {
 public:
  explicit ManifestKeeper(objects::ObjectStore& store);

  // Reads what the store has of the directory with that ID; does nothing once that has been done. kConflict where it has another directory.
  Status begin(const std::string& directory_id);
  bool has_begun() const { return has_begun_; }

  // What the store has.
  const Manifest& stored() const { return manifest_; }

  // Where the draft is another than what is stored: writes it. kConflict, and nothing is written, where another process has written since.
  // Then removes what is due, what failed passes have put and, once, what processes before this one have.
  Status write(CopyDraft& draft);

 private:
  Status expect_own() const;
  Status remove_unlisted();

  objects::ObjectStore& store_;
  const std::string writer_;
  bool has_begun_ = false;
  bool has_removed_unlisted_ = false;
  std::string found_writer_;  // of the manifest that this process goes on with; empty: there was none
  Manifest manifest_;
};

}  // namespace plimsoll::store
