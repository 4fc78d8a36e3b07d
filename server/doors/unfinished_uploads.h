// Uploads that were cut: what has arrived of them, for senders that go on where they ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "symbolizer/repository/staged_binary.h"

namespace plimsoll::server {

// Beyond a limit the oldest go first.
struct UnfinishedLimits {
  size_t max_uploads = 64;
  size_t max_per_sender = 4;
  uint64_t max_bytes = uint64_t{1} << 30;  // of all; they count as arriving files of the repository too
  // Longer than a daemon lets a transfer rest that took an hour.
  int64_t max_age_ns = 25 * kNsPerHour;
};

// In memory and in temporary files: a server that starts has none. Any thread.
class UnfinishedUploads {
 public:
  explicit UnfinishedUploads(std::function<int64_t()> monotonic_ns, UnfinishedLimits limits = {})
      : monotonic_ns_(std::move(monotonic_ns)), limits_(limits) {}

  // How many bytes of it are here; 0: none. `upload` names one among those of its sender.
  uint64_t bytes(std::string_view sender, std::string_view upload);

  // Null: none are here. They are the caller's from now on.
  std::unique_ptr<symbolizer::StagedBinary> take(std::string_view sender, std::string_view upload);

  // In place of what was here of that upload.
  void keep(std::string_view sender, std::string_view upload, symbolizer::StagedBinary staged);

  // To make room.
  void drop_all();

 private:
  struct Unfinished {
    std::string sender;
    std::string upload;
    int64_t kept_ns = 0;
    std::unique_ptr<symbolizer::StagedBinary> staged;
  };
  using List = std::list<Unfinished>;

  // With mutex_ held, all of them.
  void drop_old();
  void drop_oldest_of(std::string_view sender);
  List::iterator find(std::string_view sender, std::string_view upload);
  uint64_t all_bytes() const;

  const std::function<int64_t()> monotonic_ns_;
  const UnfinishedLimits limits_;
  std::mutex mutex_;
  List list_;  // the oldest first; guarded by mutex_
};

}  // namespace plimsoll::server
