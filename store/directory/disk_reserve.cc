#include "store/directory/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kAllBytes = DiskReserve::kSlices * DiskReserve::kSliceBytes;

}  // namespace

DiskReserve::DiskReserve(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  struct stat attributes{};
  if (fd_.valid() && ::fstat(fd_.get(), &attributes) == 0) {
    held_bytes_ = attributes.st_size;
  }
  refill();
  if (held_bytes() < kAllBytes) {
    log_warning("the reserve {} has {} of {} bytes: too little disk space is free for orders", path,
                held_bytes(), kAllBytes);
  }
}

bool DiskReserve::give_slice() {
  const std::lock_guard lock(mutex_);
  // Less than a slice: an order takes some tens of KiB, beside which file systems keep some for themselves.
  if (held_bytes_ == 0 || free_bytes() >= kSliceBytes) {
    return false;
  }
  const int64_t left = held_bytes_ < kSliceBytes ? 0 : held_bytes_ - kSliceBytes;
  if (::ftruncate(fd_.get(), left) != 0) {
    return false;
  }
  held_bytes_ = left;
  log_warning("the disk is full: an order uses the reserve {}, {} bytes remain", path_, left);
  return true;
}

void DiskReserve::refill() {
  const std::lock_guard lock(mutex_);
  // Blocks, not a length: a sparse file would hold nothing.
  if (fd_.valid() && held_bytes_ < kAllBytes && free_bytes() > 4 * kAllBytes &&
      ::posix_fallocate(fd_.get(), 0, kAllBytes) == 0) {
    held_bytes_ = kAllBytes;
  }
}

int64_t DiskReserve::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

int64_t DiskReserve::free_bytes() const {
  return store::free_bytes(path_).value_or(0);
}

}  // namespace plimsoll::store
