// The spool's folder: one file for each profile, the counts, and a lock. Keeps the sum exact: every sequence number that
// was given out is a file here or is counted, never both and never neither, after a crash at any moment.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/durable_file.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/spool/spool_counts.h"
#include "daemon/spool/spool_kind.h"
#include "daemon/spool/spooled_profile.h"

namespace plimsoll::spool {

// One thread at a time.
class SpoolFolder {
 public:
  // Creates the folder (mode 0700) where it is missing, takes its lock, finishes what a crash interrupted, and counts what
  // is missing. Errors say what to do: kConflict where another process has the lock, kDenied where the folder cannot be
  // written. `calls` and `kind` outlive the folder.
  static Result<std::unique_ptr<SpoolFolder>> open(const std::string& path, int64_t now_ns,
                                                   const FileCalls& calls,
                                                   const SpoolKind& kind = kind_of_profiles());

  // What was there when it was opened, the oldest first; empty when called again.
  std::vector<SpooledProfile> take_found() { return std::move(found_); }

  // The sequence number of the next profile: the caller gives it away with write() or with count_unwritten().
  uint64_t next_sequence() const { return record_.next_sequence; }

  // On disk when it returns. kUnavailable: the disk is full. After a failure there is no such file, and its number is
  // still to be given away.
  Status write(const SpooledProfile& profile, Bytes encoded);
  // Counts a profile that could not be written. Holds at once; after a failure it is on disk with the next record.
  Status count_unwritten(Fate fate);

  // Counts profiles that follow one another, then removes their files. After a failure of begin_removal() nothing has
  // happened. After one of finish_removal() files may be left, which are removed before anything else is counted.
  Status begin_removal(std::span<const SpooledProfile> profiles, Fate fate);
  Status finish_removal();

  Result<std::string> read(const SpooledProfile& profile, uint64_t max_bytes) const;

  const SpoolCounts& counts() const { return record_.counts; }
  uint64_t spooled() const { return record_.next_sequence - record_.first_sequence; }
  int64_t counted_since_ns() const { return record_.counted_since_ns; }

 private:
  SpoolFolder(std::string path, UniqueFd lock, CountsFile counts, const FileCalls& calls,
              const SpoolKind& kind)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        counts_(std::move(counts)),
        calls_(&calls),
        kind_(&kind),
        record_(counts_.record()) {}
  Status list();
  Status recover();
  void count_missing();
  Status remove_file(const std::string& name);
  std::string name_of(const SpooledProfile& profile) const { return file_name_of(profile, kind_->suffix); }
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  UniqueFd lock_;
  CountsFile counts_;
  const FileCalls* calls_;
  const SpoolKind* kind_;
  SpoolRecord record_;                   // as it is now: the file's may be older
  std::vector<std::string> unfinished_;  // names of files that are counted and still to be removed
  std::vector<SpooledProfile> found_;
};

}  // namespace plimsoll::spool
