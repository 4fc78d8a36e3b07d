// Accepted raw profiles: archive.db. The invariant kept here, in one transaction: a profile is stored and its ID is in
// the ledger, or neither. The ledger outlives the profiles, which retention drops (store/retention).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/fair_mutex.h"
#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

enum class Acceptance { kNew, kKnown };

// How a profile came, which decides for how long its ID is remembered.
enum class Arrival {
  kImported,  // as long as its rows are there: the same file may be imported again at any time
  kUploaded,  // for a time, after which no daemon sends it again
};

struct ArchivedProfile {
  int64_t sequence;  // order of acceptance, from 1; without gaps on disk, but for those of add_known()
  std::string id;    // 16 bytes
  std::string encoded;
  int64_t received_ns = 0;  // wall clock
  Arrival arrival = Arrival::kUploaded;
};

// Of numbers, both ends included.
struct SequenceRange {
  int64_t first = 0;
  int64_t last = 0;

  bool operator==(const SequenceRange&) const = default;
};

struct ReceivedProfile {
  int64_t sequence = 0;
  int64_t received_ns = 0;  // wall clock
};

// Any thread may call. Holds encoded profiles as they came; what is in them is the caller's to check.
class Archive {
 public:
  // Mode kRead, or kReadWriteShrinking.
  static Result<std::unique_ptr<Archive>> open(const std::string& path, sqlite::OpenMode mode);

  // On disk when it returns. The same ID with the same bytes is known already, and so is one of add_known(); with other bytes it is a kConflict.
  Result<Acceptance> accept(const std::string& id, Bytes encoded, int64_t received_ns, Arrival arrival);

  // Profiles of a copy of this archive, with the sequences that they had; on disk when it returns. Those that are there already stay.
  Status put_back(std::span<const ArchivedProfile> profiles);

  // IDs of profiles that were accepted under these numbers after this archive was copied, and whose content is lost: `encoded` is not used. On
  // disk when it returns. Those that are there already stay; kConflict where a number is another profile's.
  Status add_known(std::span<const ArchivedProfile> profiles);

  // The numbers up to `up_to` that the ledger has no profile of. Not those before the oldest profile that is still there: of these the ledger
  // forgets IDs by age.
  Result<std::vector<SequenceRange>> unknown_up_to(int64_t up_to);

  // The next profile that is accepted gets a larger number than this. On disk when it returns.
  Status go_on_after(int64_t sequence);

  // The number of the profile that was accepted last, as last_accepted_sequence().
  Result<int64_t> last_sequence();

  // The first profile after `sequence`; nothing where there is none.
  Result<std::optional<ArchivedProfile>> next_after(int64_t sequence);

  // The ID of the profile with that number; empty: the ledger has none.
  Result<std::string> id_of(int64_t sequence);

  // In the ledger.
  Result<int64_t> count();

  // What the file would take without its free pages, the ledger included. Costs microseconds.
  Result<int64_t> used_bytes();

  // The oldest profile that is still there; nothing: none is.
  Result<std::optional<ReceivedProfile>> oldest();

  // Removes profiles, which stay in the ledger: of the `max_profiles` oldest, those up to `up_to_sequence` that were received before a time.
  // How many went. Others wait as long as a commit takes, and 10 us for each.
  Result<int64_t> drop_profiles(int64_t up_to_sequence, int64_t received_before_ns, int64_t max_profiles);

  // Removes IDs of profiles that are gone, the oldest first, `max_ids` at most: of those that were uploaded and received before a time, and of
  // those up to `imports_up_to` that were imported. How many went.
  Result<int64_t> forget_ids(int64_t received_before_ns, int64_t imports_up_to, int64_t max_ids);

  // When the profile that was accepted last came; 0: the ledger is empty.
  Result<int64_t> newest_received_ns();

  // False: an older program made the file, which never gets shorter.
  Result<bool> can_give_back();

  // Gives free pages back to the disk, `max_pages` at most. How many bytes.
  Result<int64_t> give_back(int64_t max_pages);

 private:
  explicit Archive(sqlite::Database database) : database_(std::move(database)) {}
  Result<int64_t> bytes_of_pages(const char* pragma);
  Status keep_for_imports(const std::string& id);

  // Of those that drop profiles in a row, and those that accept meanwhile, each gets its turn.
  FairMutex mutex_;
  sqlite::Database database_;  // protected by mutex_
  // Protected by mutex_. Entries up to the first are of imports that stay as long as the second is what it is.
  int64_t looked_at_ = 0;
  int64_t imports_up_to_ = 0;
};

// Of the profile that was accepted last, whether it is still there or not; 0: none was.
Result<int64_t> last_accepted_sequence(sqlite::Database& archive);

}  // namespace plimsoll::store
