// Accepted raw profiles: archive.db. The invariant kept here, in one transaction: a profile is stored and its ID is in
// the ledger, or neither.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "store/sqlite/database.h"

namespace plimsoll::store {

enum class Acceptance { kNew, kKnown };

struct ArchivedProfile {
  int64_t sequence;  // order of acceptance, from 1, without gaps on disk
  std::string id;    // 16 bytes
  std::string encoded;
};

// Any thread may call. Holds encoded profiles as they came; what is in them is the caller's to check.
class Archive {
 public:
  static Result<std::unique_ptr<Archive>> open(const std::string& path, sqlite::OpenMode mode);

  // On disk when it returns. The same ID with the same bytes is known already; with other bytes it is a kConflict.
  Result<Acceptance> accept(const std::string& id, Bytes encoded, int64_t received_ns);

  // The first profile after `sequence`; nothing where there is none.
  Result<std::optional<ArchivedProfile>> next_after(int64_t sequence);

  Result<int64_t> count();

 private:
  explicit Archive(sqlite::Database database) : database_(std::move(database)) {}

  std::mutex mutex_;
  sqlite::Database database_;  // protected by mutex_
};

}  // namespace plimsoll::store
