#include "daemon/upload_queue.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace plimsoll {

UploadQueue::UploadQueue(uint64_t max_bytes)
    : max_bytes_(max_bytes), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void UploadQueue::push(QueuedProfile profile) {
  {
    const std::lock_guard lock(mutex_);
    if (profile.encoded.size() > max_bytes_) {
      ++dropped_;
      return;
    }
    bytes_ += profile.encoded.size();
    profiles_.push_back(std::move(profile));
    while (bytes_ > max_bytes_) {
      bytes_ -= profiles_.front().encoded.size();
      profiles_.pop_front();
      ++dropped_;
    }
  }
  ::eventfd_write(wake_fd_.get(), 1);
}

std::optional<QueuedProfile> UploadQueue::oldest() const {
  const std::lock_guard lock(mutex_);
  return profiles_.empty() ? std::nullopt : std::optional(profiles_.front());
}

void UploadQueue::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(profiles_, id, &QueuedProfile::id);
  if (found != profiles_.end()) {
    bytes_ -= found->encoded.size();
    profiles_.erase(found);
  }
}

uint64_t UploadQueue::size() const {
  const std::lock_guard lock(mutex_);
  return profiles_.size();
}

uint64_t UploadQueue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void UploadQueue::drain_wakeups() const {
  eventfd_t count = 0;
  ::eventfd_read(wake_fd_.get(), &count);
}

}  // namespace plimsoll
