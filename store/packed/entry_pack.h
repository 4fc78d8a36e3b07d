// What the rows of a sealed block refer to most, beside its catalogue and in fewer bytes: millions of rows of a table take seconds to
// step through, and a file of packed columns takes milliseconds. Derived: the catalogue is the truth.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/model/bindings.h"
#include "store/model/dictionaries.h"
#include "store/segments/segment_file.h"

namespace plimsoll::store {

// How many of each there are, and of which time.
struct EntryCounts {
  uint32_t locations = 0;
  uint32_t stacks = 0;
  uint32_t frames = 0;
  int64_t last_change = 0;  // of the bindings

  bool operator==(const EntryCounts&) const = default;
};

// The file of a block: locations, stacks, and the frames of locations. docs/store-format.md has its bytes. About 15 ns for each entry.
std::string pack_entries(const Dictionaries& dictionaries, const Bindings& bindings);

// Such a file, mapped. Any thread may read.
class EntryPack {
 public:
  // kNotFound, kUnsupported, or kCorrupt where its directory is damaged: then the catalogue has it all.
  static Result<EntryPack> open(const std::string& path);

  const EntryCounts& counts() const { return counts_; }

  // Fills lists that are empty but for entry 0. About 5 ns for each entry, and as much again for checksums. kCorrupt where a part of
  // the file is damaged: then they must not be used.
  Status read_locations(Dictionaries& dictionaries) const;
  Status read_stacks(Dictionaries& dictionaries) const;
  Status read_frames(PackedFrames& frames) const;

 private:
  template <typename Read>
  Status read_chunks(uint32_t kind, Read read) const;

  SegmentFile file_;
  EntryCounts counts_;
};

}  // namespace plimsoll::store
