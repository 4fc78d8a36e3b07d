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
  bool is_rolled_up = false;
  int64_t profiles = 0;
  int64_t rows = 0;
  int64_t segments = 0;
  int64_t bytes = 0;        // allocated to its files, as everywhere here
  std::string damage = {};  // why nothing else is known of it; empty: it can be read
  int64_t first = number;   // of the blocks that were merged into it (store/blocks)
};

struct StoreAccount {
  std::vector<BlockAccount> blocks;  // in order
  int64_t block_bytes = 0;           // of all of them
  int64_t full_bytes = 0;            // of those that are not rolled up
  int64_t accepted_profiles = 0;     // since the beginning
  int64_t raw_profiles = 0;          // that are still there
  int64_t archive_bytes = 0;         // that they take, with the IDs of all that are remembered
  int64_t symbol_bytes = 0;          // symbol tables
  int64_t span_bytes = 0;            // spans of request traces, and findings about them
  int64_t burst_bytes = 0;           // recordings of bursts
  int64_t other_bytes = 0;           // the fleet, draws, access, added binaries
  // How they grow, by the profiles of the last 7 days at the mean size of those that are there; 0: the first came less than an hour ago.
  int64_t archive_bytes_a_day = 0;
  int64_t block_bytes_a_day = 0;
  int64_t disk_free_bytes = 0;  // of the file system, for users without privileges
};

// Beside a writer or without one. `now_ns`: the wall clock. Counts the rows of a table in each block: milliseconds for each.
Result<StoreAccount> account_store(const std::string& data_dir, int64_t now_ns);

}  // namespace plimsoll::store
