// Folders of blocks that others have taken the place of, until their files go.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "store/blocks/block_folder.h"

namespace plimsoll::store {

// They stay for a moment, so that readers who have just listed them find them. One thread.
class ReplacedFolders {
 public:
  using Clock = std::chrono::steady_clock;

  // `keep`: for how long.
  ReplacedFolders(std::string blocks_path, Clock::duration keep)
      : blocks_path_(std::move(blocks_path)), keep_(keep) {}
  ReplacedFolders(const ReplacedFolders&) = delete;
  ReplacedFolders& operator=(const ReplacedFolders&) = delete;
  // Removes all of them, due or not.
  ~ReplacedFolders();

  // From now on.
  void add(const BlockFolder& folder);

  // Removes the files of those that are due. When the next will be; nothing: none is left.
  std::optional<Clock::time_point> remove_due();

 private:
  struct Replaced {
    BlockFolder folder;
    Clock::time_point due;
  };

  void remove_due_by(Clock::time_point now);

  const std::string blocks_path_;
  const Clock::duration keep_;
  std::deque<Replaced> replaced_;  // by time
};

}  // namespace plimsoll::store
