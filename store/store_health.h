// How much a data directory holds, and what in it waits or failed: for monitoring.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/archive/archive.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/directory/data_directory.h"

namespace plimsoll::store {

struct StoreHealth {
  int64_t profiles_accepted = 0;   // ever
  int64_t profiles_pending = 0;    // accepted, without rows yet
  int64_t profiles_set_aside = 0;  // no rows can be built from them (table `unbuildable`)
  // Of the newest block with profiles and the one before it. Addresses that a binary's symbols could name, and those of them without a
  // name.
  int64_t locations = 0;
  int64_t locations_without_symbols = 0;
  // Binaries with such addresses: with symbols of any quality, not searched yet, searched in vain.
  int64_t binaries_found = 0;
  int64_t binaries_pending = 0;
  int64_t binaries_missing = 0;
  // Sealed blocks that cannot be read, and why the first of them cannot.
  int64_t blocks_unreadable = 0;
  std::string why_unreadable = {};
  int64_t disk_bytes = 0;       // allocated to the files of the directory
  int64_t disk_free_bytes = 0;  // of the file system, for users without privileges
};

// Opens a data directory beside its writer. One thread at a time.
class StoreHealthMeter {
 public:
  static Result<StoreHealthMeter> open(const std::string& data_dir);

  // Lists the directory's files, and counts the locations of the newest blocks where those have changed since the last call: about a second
  // for each million. Not for every request.
  Result<StoreHealth> measure();

 private:
  // What a block had when it was last looked at.
  struct Block {
    std::optional<Catalogue> catalogue = {};  // while it takes rows
    std::optional<int64_t> version = {};      // of what was counted; nothing: not counted yet
    StoreHealth counted = {};                 // of its symbols, and profiles set aside
    int64_t last_built = 0;
    bool has_profiles = false;
  };

  StoreHealthMeter(DataDirectory directory, sqlite::Database archive)
      : directory_(std::move(directory)), archive_(std::move(archive)) {}
  static Status measure_block(const BlockFolder& folder, bool is_newest, Block& block);
  static Status count(sqlite::Database& catalogue, Block& block);
  static Status count_symbols(sqlite::Database& catalogue, StoreHealth& counted);
  Status measure_disk(StoreHealth& health) const;

  DataDirectory directory_;
  sqlite::Database archive_;
  std::map<std::pair<int64_t, int64_t>, Block> blocks_;  // by number and generation
};

}  // namespace plimsoll::store
