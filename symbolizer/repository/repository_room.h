// The bytes that a repository of binaries takes on disk: kept files, and those that are arriving, under one limit.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/result.h"

namespace plimsoll::symbolizer {

// Any thread.
class RepositoryRoom {
 public:
  explicit RepositoryRoom(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // For a file that is arriving. kUnavailable where all files together would be over the limit.
  Status take(uint64_t bytes);
  // Whether take() would fail.
  Status expect(uint64_t bytes) const;
  void give_back(uint64_t bytes);

  // In place of kept files of `removed_bytes`. Never fails: the limit may have been lowered since they came.
  void change_kept(uint64_t removed_bytes, uint64_t added_bytes);

  uint64_t kept_bytes() const;

 private:
  Status expect_locked(uint64_t bytes) const;

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  uint64_t kept_bytes_ = 0;  // guarded by mutex_, as is the next
  uint64_t arriving_bytes_ = 0;
};

}  // namespace plimsoll::symbolizer
