// The manifest that a pass of a write-behind makes, and the files that it puts for it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "objects/object_store.h"
#include "store/objects/manifest.h"
#include "store/objects/write_behind_options.h"

namespace plimsoll::store {

// Used by all that copies a part of the directory. One thread. Borrows both.
class CopyDraft {
 public:
  CopyDraft(objects::ObjectStore& store, const WriteBehindOptions& options)
      : store_(store), options_(options) {}

  // Begins a pass: the draft is what the store has.
  void begin(const Manifest& stored);

  // Blocks are the caller's to enter; files go through put() and the drops.
  Manifest& manifest() { return manifest_; }
  const Manifest& manifest() const { return manifest_; }

  // Puts a file unless the draft has its content, and enters it. After an error the draft is as it was.
  Status put(const std::string& path, Bytes content, int64_t version);

  // The directory has dropped the file: its objects stay for WriteBehindOptions::keep_dropped_ns.
  void drop(const std::string& path);
  // Another file has its content: its objects stay while a restore may be reading an earlier manifest.
  void drop_replaced(const std::string& path);

  // Objects of what left go by now's options and clock, where these had them stay longer when it left.
  void shorten_leaving();

  // Whether the pass has put, or read again, enough; then its report says that another one has to follow.
  bool is_over_budget();

  const WriteBehindReport& report() const { return report_; }

  // What was put in this and earlier passes since the last call. Where no manifest names it, its objects are to go.
  std::vector<std::pair<std::string, StoredFile>> take_put() { return std::exchange(put_, {}); }

  int64_t now_ns() const { return options_.now_ns(); }

 private:
  objects::ObjectStore& store_;
  const WriteBehindOptions& options_;
  Manifest manifest_;
  WriteBehindReport report_;
  uint64_t reread_bytes_ = 0;  // of files with another version and the same content
  std::vector<std::pair<std::string, StoredFile>> put_;
};

}  // namespace plimsoll::store
