// The archive: each raw profile, and what has become of each that was accepted.
#pragma once

#include <cstdint>

#include "sqlite/database.h"
#include "store/care/check_log.h"

namespace plimsoll::store {

// Compares the profiles of blocks, one block after the other, with the ledger. The oldest profiles may be without
// their content, some of those missing from the ledger too, and the oldest blocks may be gone.
class LedgerCheck {
 public:
  // `archive` must outlive it. `has_rows_elsewhere`: what has become rows is in no block.
  LedgerCheck(CheckLog& log, sqlite::Database& archive, bool has_rows_elsewhere)
      : log_(log), archive_(archive), has_rows_elsewhere_(has_rows_elsewhere) {}

  void add_block(sqlite::Database& catalogue);
  // Of one that took the place of blocks while these were compared: some of them were added, and the rest cannot be told from those.
  void pass_over(sqlite::Database& catalogue);
  // That all that has become rows is in the archive, and that what waits has its raw profile.
  void finish();

 private:
  Status compare(sqlite::Database& catalogue);

  CheckLog& log_;
  sqlite::Database& archive_;
  const bool has_rows_elsewhere_;
  int64_t last_ = 0;  // sequence of the blocks so far; 0: none
};

// Raw profiles against their hashes, decoded.
void check_raw_profiles(CheckLog& log, sqlite::Database& archive);

}  // namespace plimsoll::store
