// Copies the parts of a store into another, and compares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "store/copy/copy_note.h"
#include "store/copy/part.h"

namespace plimsoll::store {

struct CopyProgress {
  std::string_view activity;  // "copying", "verifying"
  int64_t part = 0;           // its number
  size_t parts_done = 0;
  size_t parts = 0;
  uint64_t rows = 0;  // of the part, so far
};
// Called often.
using ShowCopyProgress = std::function<void(const CopyProgress& progress)>;

// Writes the note where it is kept.
using KeepNote = std::function<Status(const CopyNote& note)>;

struct PartCopyReport {
  size_t parts = 0;
  size_t copied = 0;  // of these, by this call
};

// Copies the parts that the target does not have yet. Those that the note has, in the version that they have in the source now, stay as they
// are; from the first other one on all are copied again, since each follows the one before it. The note is kept after each part: whatever ends
// the process, the next call goes on from there.
Result<PartCopyReport> copy_parts(PartSource& from, PartTarget& to, CopyNote& note, const KeepNote& keep,
                                  const ShowCopyProgress& show = {});

struct CopiedSums {
  size_t profiles = 0;
  double hits = 0;
};

// Adds up the rows of both. kCorrupt where they differ: the error names the first difference, and the note has the parts from there on no
// more, so that they are copied again.
Result<CopiedSums> verify_parts(PartSource& from, PartTarget& to, CopyNote& note, const KeepNote& keep,
                                const ShowCopyProgress& show = {});

}  // namespace plimsoll::store
