#include "store/rollup/replaced_folders.h"

#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/result.h"

namespace plimsoll::store {

ReplacedFolders::~ReplacedFolders() {
  remove_due_by(Clock::time_point::max());
}

void ReplacedFolders::add(const BlockFolder& folder) {
  replaced_.push_back({folder, Clock::now() + keep_});
}

std::optional<ReplacedFolders::Clock::time_point> ReplacedFolders::remove_due() {
  remove_due_by(Clock::now());
  return replaced_.empty() ? std::nullopt : std::optional(replaced_.front().due);
}

void ReplacedFolders::remove_due_by(Clock::time_point now) {
  for (; !replaced_.empty() && replaced_.front().due <= now; replaced_.pop_front()) {
    const BlockFolder& folder = replaced_.front().folder;
    std::error_code ignored;
    // Where its block has been dropped, it went with it.
    if (!std::filesystem::exists(folder.path, ignored)) {
      continue;
    }
    if (const Status removed = drop_block(blocks_path_, folder); !removed) {
      // It counts no more: it costs room, until the next start.
      log_warning("removing {}, which was replaced: {}", folder.path, removed.error().text());
    }
  }
}

}  // namespace plimsoll::store
