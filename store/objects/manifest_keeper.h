// The manifest in an object store, of the one process that may write it.
#pragma once

#include <functional>
#include <optional>
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

  // Reads what the store has of the directory with that ID and, where `check` permits it, takes it over: a process that wrote there before
  // writes no more. Does nothing once that has been done. kConflict where the store has another directory, or, from then on, where another
  // process has taken it over.
  Status begin(const std::string& directory_id, const std::function<Status(const Manifest& stored)>& check);
  bool has_begun() const { return has_begun_; }

  // What the store has.
  const Manifest& stored() const { return manifest_; }

  // Where the draft is another than what is stored: writes it. kConflict, and nothing is written, where another process has taken over. Where
  // the manifest is gone, as from an emptied bucket, nothing is written either, and begin() begins with nothing.
  // Then removes what is due, what failed passes have put and what earlier processes, or removals that failed, have left.
  Status write(CopyDraft& draft);

 private:
  Status expect_own();
  Status remove_unlisted();

  objects::ObjectStore& store_;
  const std::string writer_;
  std::optional<Error> superseded_;  // by another process, until this one ends
  bool has_begun_ = false;
  bool has_removed_unlisted_ = false;
  bool may_have_another_ = false;  // a put of a manifest failed, and may have been done
  Manifest manifest_;              // without a writer: there is none yet
};

}  // namespace plimsoll::store
