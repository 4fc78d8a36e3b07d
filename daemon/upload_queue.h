// Encoded profiles waiting to be sent, bounded in bytes: the oldest is dropped first, and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace plimsoll {

struct QueuedProfile {
  std::string id;  // 16 bytes
  std::string encoded;
  bool has_kernel_symbols = false;
};

// Any thread.
class UploadQueue {
 public:
  explicit UploadQueue(uint64_t max_bytes);

  // Drops the oldest profiles where there is no room, or this one where it alone is too large.
  void push(QueuedProfile profile);

  // The oldest, which stays in the queue until remove(id): it may be sent again.
  std::optional<QueuedProfile> oldest() const;
  void remove(const std::string& id);

  uint64_t size() const;
  uint64_t dropped() const;

  // Readable while the queue has something that was pushed after the last drain_wakeups().
  int wake_fd() const { return wake_fd_.get(); }
  void drain_wakeups() const;

 private:
  const uint64_t max_bytes_;
  const UniqueFd wake_fd_;
  mutable std::mutex mutex_;
  std::deque<QueuedProfile> profiles_;  // protected by mutex_
  uint64_t bytes_ = 0;                  // likewise
  uint64_t dropped_ = 0;                // likewise
};

}  // namespace plimsoll
