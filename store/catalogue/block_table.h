// What a block says of itself in its catalogue: what it covers, whether it takes more, and whether its rows are rolled up.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

struct BlockState {
  bool is_sealed = false;      // takes no more profiles
  int64_t first_built_ns = 0;  // wall clock, when its first profile became rows; 0: it has none yet
  // That the windows of its profiles cover, by their machines' wall clocks; from_ns > to_ns: it has none.
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  // Of the draws that they were of: as far from a profile's window others of the same draw may be.
  int64_t max_interval_ns = 0;

  bool operator==(const BlockState&) const = default;
};

// The state of a block in which nothing has been written is BlockState().
Result<BlockState> read_block_state(sqlite::Database& catalogue);

// Part of the caller's transaction.
Status write_block_state(sqlite::Database& catalogue, const BlockState& state);

// Of the archive: the last profile that became rows, or was set aside, in this block or an earlier one, which may be gone. 0: none did, or
// this block was made by an older program and has none of its own.
Result<int64_t> last_built_sequence(sqlite::Database& catalogue);

// Of the archive: the last profile that an earlier block had; 0: it is the first, or was made by an older program.
Result<int64_t> accepted_before(sqlite::Database& catalogue);

// Of a block that has just been made. Part of the caller's transaction.
Status write_accepted_before(sqlite::Database& catalogue, int64_t archive_sequence);

// Whether the rows of a block are rolled up; false too where its catalogue is older than that.
Result<bool> is_rolled_up(sqlite::Database& catalogue);

// What the profiles in a catalogue of a format without the table say, built at `first_built_ns`. Reads all origins.
Result<BlockState> block_state_of_origins(sqlite::Database& catalogue, int64_t first_built_ns);

}  // namespace plimsoll::store
