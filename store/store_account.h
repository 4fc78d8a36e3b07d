// What a data directory holds, by block, and how it grows: for operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/catalogue/block_table.h"

namespace plimsoll::store {

struct BlockAccount {
  int64_t number = 0;
  BlockState state;
  int64_t profiles = 0;
  int64_t rows = 0;
  int64_t segments = 0;
  int64_t bytes = 0;  // allocated to its files, as everywhere here
};

struct StoreAccount {
  std::vector<BlockAccount> blocks;  // in order
  int64_t raw_profiles = 0;          // accepted
  int64_t archive_bytes = 0;         // that they take
  int64_t symbol_bytes = 0;          // symbol tables
  int64_t other_bytes = 0;           // the fleet, draws, access
  // Of raw profiles and blocks, by the profiles of the last 7 days at the mean size of all; 0: the first came less than an hour ago.
  int64_t bytes_a_day = 0;
  int64_t disk_free_bytes = 0;  // of the file system, for users without privileges
};

// Beside a writer or without one. `now_ns`: the wall clock. Counts the rows of a table in each block: milliseconds for each.
Result<StoreAccount> account_store(const std::string& data_dir, int64_t now_ns);

}  // namespace plimsoll::store
