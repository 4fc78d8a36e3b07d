// How much a data directory holds, and what in it waits or failed: for monitoring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/archive/archive.h"
#include "store/catalogue/catalogue.h"
#include "store/data_directory.h"

namespace plimsoll::store {

struct StoreHealth {
  int64_t profiles_accepted = 0;   // ever
  int64_t profiles_pending = 0;    // accepted, without rows yet
  int64_t profiles_set_aside = 0;  // no rows can be built from them (table `unbuildable`)
  // Addresses that a binary's symbols could name, and those of them without a name.
  int64_t locations = 0;
  int64_t locations_without_symbols = 0;
  // Binaries with such addresses: with symbols of any quality, not searched yet, searched in vain.
  int64_t binaries_found = 0;
  int64_t binaries_pending = 0;
  int64_t binaries_missing = 0;
  int64_t disk_bytes = 0;       // allocated to the files of the directory
  int64_t disk_free_bytes = 0;  // of the file system, for users without privileges
};

// Opens a data directory beside its writer. One thread at a time.
class StoreHealthMeter {
 public:
  static Result<StoreHealthMeter> open(const std::string& data_dir);

  // Lists the directory's files, and, where the catalogue has changed since the last call, counts all its locations: about a second for
  // each million. Not for every request.
  Result<StoreHealth> measure();

 private:
  StoreHealthMeter(DataDirectory directory, sqlite::Database archive, Catalogue catalogue)
      : directory_(std::move(directory)), archive_(std::move(archive)), catalogue_(std::move(catalogue)) {}
  Status measure_profiles(StoreHealth& health);
  Status measure_symbols(StoreHealth& health);
  Status measure_disk(StoreHealth& health) const;

  DataDirectory directory_;
  sqlite::Database archive_;
  Catalogue catalogue_;
  StoreHealth counted_;                       // its symbols, of catalogue_version_
  std::optional<int64_t> catalogue_version_;  // SQLite's data_version; nothing: not counted yet
};

}  // namespace plimsoll::store
