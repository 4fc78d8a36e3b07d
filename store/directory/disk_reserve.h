// Room on the disk for orders: the kill switch is to work where everything else has filled it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/unique_fd.h"

namespace plimsoll::store {

// A file that takes its room now, and gives it back in slices where an order finds none. Any thread may call.
class DiskReserve {
 public:
  static constexpr int64_t kSliceBytes = int64_t{1} << 20;
  static constexpr int64_t kSlices = 8;

  // Takes what it can have; a warning says where that is less.
  explicit DiskReserve(const std::string& path);
  DiskReserve(const DiskReserve&) = delete;
  DiskReserve& operator=(const DiskReserve&) = delete;

  // Where the disk is full: a slice of it is free now, for who comes first. False: it is not full, or nothing is left to give.
  bool give_slice();

  // Takes room again, where much more than that is free.
  void refill();

  int64_t held_bytes() const;

 private:
  int64_t free_bytes() const;

  const std::string path_;
  mutable std::mutex mutex_;
  UniqueFd fd_;  // guarded by mutex_, as is the next
  int64_t held_bytes_ = 0;
};

}  // namespace plimsoll::store
