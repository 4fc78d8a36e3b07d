#include "symbolizer/repository/repository_room.h"

namespace plimsoll::symbolizer {

Status RepositoryRoom::take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Status room = expect_locked(bytes);
  arriving_bytes_ += room ? bytes : 0;
  return room;
}

Status RepositoryRoom::expect(uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return expect_locked(bytes);
}

Status RepositoryRoom::expect_locked(uint64_t bytes) const {
  const uint64_t used_bytes = kept_bytes_ + arriving_bytes_;
  if (used_bytes > max_bytes_ || bytes > max_bytes_ - used_bytes) {
    return with_hint(fail(ErrorCode::kUnavailable,
                          "the repository of binaries is full: {} bytes are kept, {} are arriving, {} are "
                          "permitted",
                          kept_bytes_, arriving_bytes_, max_bytes_),
                     "raise binaries.max_bytes, or lower binaries.max_age, of the server's configuration");
  }
  return {};
}

void RepositoryRoom::give_back(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  arriving_bytes_ -= bytes;
}

void RepositoryRoom::change_kept(uint64_t removed_bytes, uint64_t added_bytes) {
  const std::lock_guard lock(mutex_);
  kept_bytes_ = kept_bytes_ - removed_bytes + added_bytes;
}

uint64_t RepositoryRoom::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

}  // namespace plimsoll::symbolizer
