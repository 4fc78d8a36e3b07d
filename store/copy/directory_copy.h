// Moves the rows of a data directory into ClickHouse, and back into the directory (`plimsoll store copy`).
//
// The order of what is written, and what the end of the process leaves:
//   1. the note `copying` of the directory (copy_note.h)           rows are where they were
//   2. part after part in the new place, the note after each       the same; the next call goes on with the first part that is not noted
//   3. the sums of both sides are compared                         the same
//   4. of a copy into the directory: blocks.copied/ and blocks/
//      are exchanged by one system call                            the same: blocks/ is not read. The next call exchanges them back first
//   5. `identity` names the new place                              rows are there
//   6. old rows are removed where that is asked for, then the note the next call with `removes` does the rest
//
// Blocks that are copied into the directory are made in blocks.copied/, where the file `copy` names the copy that they are of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "store/copy/part_copy.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

struct RowsCopyOptions {
  RowsAddress to = {};   // empty: into the directory
  bool removes = false;  // the old rows, once the new ones are what counts
  ShowCopyProgress show = {};
  std::function<int64_t()> now_ns = wall_now_ns;  // the wall clock
};

struct RowsCopyReport {
  bool was_there = false;  // the rows were in that place already: nothing was copied
  size_t parts = 0;
  size_t copied = 0;  // of these, by this call
  size_t profiles = 0;
  double hits = 0;
  bool removed = false;
  RowsAddress old = {};  // where rows may be left; empty: in the directory
};

// Takes the lock of the directory: kConflict while another process has it.
Result<RowsCopyReport> copy_rows(const std::string& data_dir, const RowsCopyOptions& options);

}  // namespace plimsoll::store
