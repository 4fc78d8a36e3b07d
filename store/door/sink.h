// What writes rows: a sink takes batches of profiles, each at once or not at all.
//
// The archive decides which profiles there are, in which order, and each once; a sink remembers up to which of them it has all. Dictionaries
// have one writer, which gives dense IDs: the sink keeps entries under the IDs that come with them, and hands them back after a restart.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/model/batch.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

// One thread at a time, but for committed_up_to().
class Sink {
 public:
  // Where the next batch goes.
  struct Place {
    // A sink may begin dictionaries again (the local one does with each block), so that they stay small: with the entries that it carries
    // over, the events at least, which have one meaning in all epochs.
    int64_t epoch = 0;
    int64_t after = 0;        // archive sequence: of the last profile that is committed; 0: none is
    DictionarySizes entries;  // of this epoch
    // That the batch may have, at least 1: for which there is room, and that are worth a commit (kBatchProfiles, unless one costs more).
    uint64_t max_profiles = 0;
  };

  // Each batch costs a commit, and one that fails all that was done for it.
  static constexpr uint64_t kBatchProfiles = 256;

  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  // Archive sequence of the last profile that is known to be committed. Any thread; costs nothing.
  virtual int64_t committed_up_to() const = 0;

  // To be called before each batch, after a failure above all: only then is it known whether that one was committed. A new epoch begins here
  // where the one before is full, or old while a profile waits.
  virtual Result<Place> begin(bool is_profile_waiting) = 0;

  // The entries of the epoch that begin() named, events of origins aside. Reads all of them.
  virtual Result<Dictionaries> dictionaries() = 0;

  // All of the batch is visible and durable when it returns, or nothing of it. After a failure it may be committed all the same; then
  // begin() says so. A batch whose last profile is committed changes nothing. kConflict for one that was made for another place.
  virtual Status commit(Batch batch) = 0;
};

}  // namespace plimsoll::store
