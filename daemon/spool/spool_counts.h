// What became of every profile that was ever spooled, kept so that it is exact after a crash at any moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

#include "base/durable_file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::spool {

// How a profile left the spool. The order is part of the file's format.
enum class Fate : uint8_t {
  kDelivered,   // acknowledged by the server
  kRefused,     // by the server, for good
  kNoRoom,      // the limit on bytes was reached
  kTooOld,      // the limit on age was reached
  kDamaged,     // its file did not hold what was written
  kDiskFailed,  // the disk was full, or did not take it
  kMissing,     // its file was gone, and not by the spool
};
inline constexpr size_t kFates = 7;

struct SpoolCounts {
  std::array<uint64_t, kFates> by_fate{};

  uint64_t& operator[](Fate fate) { return by_fate.at(static_cast<size_t>(fate)); }
  uint64_t operator[](Fate fate) const { return by_fate.at(static_cast<size_t>(fate)); }
  uint64_t all() const { return std::accumulate(by_fate.begin(), by_fate.end(), uint64_t{0}); }
  // Neither delivered nor refused by the server.
  uint64_t dropped() const { return all() - (*this)[Fate::kDelivered] - (*this)[Fate::kRefused]; }

  bool operator==(const SpoolCounts&) const = default;
};

// The newest state of the counts. Profiles in the folder = next_sequence - first_sequence - counts.all(), once those that
// are being removed are gone.
struct SpoolRecord {
  uint64_t first_sequence = 1;  // counted from here on
  uint64_t next_sequence = 1;   // or higher, where the folder holds higher ones
  // Files from the first to the last of these, both included, are counted already: the first to find one removes it.
  // None: the last is below the first.
  uint64_t removing_first = 1;
  uint64_t removing_last = 0;
  int64_t counted_since_ns = 0;  // wall clock
  SpoolCounts counts = {};
};

// The file that keeps a record: two slots with checksums, written in turn and in place, so that one of them is whole
// whatever happens, and that a full disk does not stop it. docs/spool.md has the layout. One thread at a time.
class CountsFile {
 public:
  // Creates it where it is missing. kCorrupt where neither slot is whole, which no crash leads to.
  static Result<CountsFile> open(const std::string& path, int64_t now_ns, const FileCalls& calls);

  bool is_new() const { return is_new_; }
  const SpoolRecord& record() const { return record_; }

  // On disk when it returns. Costs an fsync. After a failure the file holds this record or the one before.
  Status write(const SpoolRecord& record);

 private:
  CountsFile(std::string path, UniqueFd fd, const FileCalls& calls)
      : path_(std::move(path)), fd_(std::move(fd)), calls_(&calls) {}
  Status read();

  std::string path_;
  UniqueFd fd_;
  const FileCalls* calls_;
  bool is_new_ = false;
  uint64_t generation_ = 0;
  SpoolRecord record_;
};

}  // namespace plimsoll::spool
