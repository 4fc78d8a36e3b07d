// bursts/catalogue.db: which recordings of bursts there are. Internal to store/bursts and store/care.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/door/bursts.h"

namespace plimsoll::store {

inline constexpr std::string_view kBurstCatalogueFile = "catalogue.db";

// A recording with what tells it from another one of the same ID.
struct BurstEntry {
  StoredBursts bursts;
  std::string content_hash;  // content_hash() of its bytes
};

// One connection: one thread at a time.
class BurstCatalogue {
 public:
  // Makes it for the writer, with the ID of its data directory. kConflict: it is of another one.
  static Result<BurstCatalogue> open(const std::string& bursts_path, std::string_view directory_id);
  // For reading; nothing where no recording ever came.
  static Result<std::optional<BurstCatalogue>> open_if_there(const std::string& bursts_path);

  Result<std::optional<BurstEntry>> find(std::string_view id);
  // As BurstSource::list().
  Result<std::vector<StoredBursts>> list(const BurstQuestion& question);
  // In the order in which they were received.
  Result<std::vector<BurstEntry>> all();
  // The one received first, unless it is the only one.
  Result<std::optional<StoredBursts>> oldest_of_several();
  // Of all recordings' files.
  Result<int64_t> bytes();

  Status insert(const BurstEntry& entry);
  Status remove(std::string_view id);

  sqlite::Database& database() { return database_; }

 private:
  BurstCatalogue(sqlite::Database database, const char* columns)
      : database_(std::move(database)), columns_(columns) {}
  sqlite::Database database_;
  const char* columns_;  // of `recording`, in the order of BurstEntry; static
};

// The file of a recording below `bursts_path`.
std::string recording_path(const std::string& bursts_path, std::string_view id);
inline std::string recordings_folder(const std::string& bursts_path) {
  return bursts_path + "/recordings";
}

}  // namespace plimsoll::store
