// Profiles, or recordings of bursts, on disk that wait to be sent. docs/spool.md has the folder's format and what each moment of a crash leads to.
//
// Bounded in bytes and in age: the oldest is dropped first, and counted. Each profile that was spooled is here, or was
// delivered, refused or dropped, and is counted as exactly one of these, whenever the process is killed.
// Holds no profile in memory, only what their names say.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/spool/spool_folder.h"
#include "daemon/spool/spool_kind.h"
#include "proto/profile_codec.h"

namespace plimsoll::spool {

struct SpoolOptions {
  std::string folder;
  const SpoolKind* kind = &kind_of_profiles();
  uint64_t max_bytes = uint64_t{64} << 20;  // of disk: whole blocks and the files' entries
  int64_t max_age_ns = int64_t{3} * 24 * 3600 * kNsPerSecond;
  uint64_t max_profiles = 100'000;  // bounds the memory that knows of them, to 13 MB
  const FileCalls* calls = &FileCalls::system();
  // Age goes by the second clock, which cannot be set. The first is asked only for what a former run has spooled.
  std::function<int64_t()> wall_ns = &wall_now_ns;
  std::function<int64_t()> boottime_ns = &boot_now_ns;
};

struct OutgoingProfile {
  uint64_t sequence = 0;
  std::string id;  // 16 bytes
  std::string encoded;
  bool has_kernel_symbols = false;
};

struct SpoolStatus {
  uint64_t spooled = 0;  // ever: counts.all() + waiting
  SpoolCounts counts;    // of all runs on this folder since counted_since_ns
  int64_t counted_since_ns = 0;
  uint64_t waiting = 0;
  uint64_t waiting_bytes = 0;
  std::string problem;  // with the newest push or removal, in words; empty while all is well
};

// Any thread. A call waits for the disk, and for the calls of other threads.
class Spool {
 public:
  // What a former run has left is sent first. Errors say what to do.
  static Result<std::unique_ptr<Spool>> open(SpoolOptions options);

  // Returns the profile's sequence number once it is on disk. An error means that it was dropped, and counted (kInvalid:
  // its ID has not 16 bytes, and nothing is counted). Drops the oldest where that makes room. Costs two fsyncs, more where something is dropped.
  Result<uint64_t> push(const std::string& id, Bytes encoded, bool has_kernel_symbols);

  // The oldest, read from disk and checked, which stays until settle(). Drops those before it that are damaged, missing or
  // too old. An error: it could not be read now.
  Result<std::optional<OutgoingProfile>> oldest();

  // What became of it; it is counted and removed. After an error it is still here. Unknown numbers are none.
  Status settle(uint64_t sequence, Fate fate);

  SpoolStatus status() const;
  const SpoolKind& kind() const { return *options_.kind; }
  uint64_t waiting() const;
  // Whether a profile pushed since open() waits that carries the running kernel's symbols.
  bool holds_kernel_symbols() const;
  // The sequence number of the first profile pushed since open(), whether there is one yet or not.
  uint64_t first_of_this_run() const { return first_of_this_run_; }

  // Readable while something was pushed after the last drain_wakeups().
  int wake_fd() const { return wake_fd_.get(); }
  void drain_wakeups() const;

 private:
  struct Entry {
    SpooledProfile profile;
    int64_t spooled_at_ns;  // boot time; negative for what was spooled before the machine started
  };

  Spool(SpoolOptions options, std::unique_ptr<SpoolFolder> folder);

  // All with mutex_ held.
  void index_found();
  Status make_room(uint64_t bytes, uint64_t profiles);
  Status write_to_disk(const SpooledProfile& profile, Bytes encoded);
  std::unexpected<Error> drop_unwritten(Fate fate, Error error);
  bool free_disk(uint64_t bytes);
  Status expire(size_t from);
  size_t first_droppable() const;
  Status remove(size_t from, size_t count, Fate fate);
  Result<std::string> read_checked(const SpooledProfile& profile);
  Status drop_unreadable(const Error& error);
  void note(std::string& problem, const Status& done);

  const SpoolOptions options_;
  const UniqueFd wake_fd_;
  mutable std::mutex mutex_;
  const uint64_t first_of_this_run_;
  std::unique_ptr<SpoolFolder> folder_;  // protected by mutex_, as all below
  std::deque<Entry> entries_;            // by sequence number
  uint64_t bytes_ = 0;
  // The oldest, once it may have been sent: the server may have it although its answer never came, and it would be
  // counted as dropped as well as delivered. So it is not dropped to make room.
  uint64_t maybe_sent_ = 0;
  int failed_reads_ = 0;         // of the oldest, in a row
  std::string write_problem_;    // of the newest push
  std::string removal_problem_;  // of the newest removal
};

}  // namespace plimsoll::spool
