// A damaged block: its rows built again from raw profiles, or given up.
//
// Either makes another block beside the damaged one, blocks/NNNNNN.rebuilt, which takes its place at one moment once it is whole. A crash
// leaves the damaged block where it is, and the next call goes on with what has been built; or the new one, and the next call takes the
// damaged one away.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::store {

struct RebuildReport {
  int64_t profiles = 0;  // that have rows
  int64_t rows = 0;
  int64_t set_aside = 0;  // no rows could be built from them
  int64_t lost =
      0;  // their raw profiles are gone; the block says so of each, as of those that were set aside
  std::string kept_at = {};  // where the damaged block is now, if it may hold what is lost; else empty
};

// Of a sealed block in which a check finds damage, in a directory that no other process uses. Where the catalogue is sound, all raw profiles
// of the block have to be there: what is in its sound segments must not get lost. kConflict where the block is sound, kNotFound where no
// raw profile of it is left or there is no such block, kInvalid where it takes rows, or where one beside it must come first. A block that was
// merged is rebuilt as a whole, by the number of the last block in it: kNotFound for the others', and says so. Memory: the dictionaries of a
// block, and one batch of profiles. Before any thread is made.
Result<RebuildReport> rebuild_block(const std::string& data_dir, int64_t number);

// Puts an empty block in its place; its profiles count as set aside. Its files are removed. How many profiles they are, as far as is known.
Result<int64_t> forget_block(const std::string& data_dir, int64_t number);

}  // namespace plimsoll::store
