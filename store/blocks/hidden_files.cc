#include "store/blocks/hidden_files.h"

#include <filesystem>
#include <system_error>

#include "base/log.h"

namespace plimsoll::store {

Status remove_hidden_files(const BlockFolder& block, const std::set<std::string>& visible) {
  Status removed;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(block.segments_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (visible.contains(path.filename().string())) {
      continue;
    }
    log_info("removing {}, which is not visible", path.string());
    std::error_code remove_error;
    std::filesystem::remove(path, remove_error);
    if (remove_error && removed) {
      removed =
          fail_errno(remove_error.value(), "removing {}, which is not a visible segment", path.string());
    }
  }
  return error ? Status(fail_errno(error.value(), "listing {}", block.segments_path())) : removed;
}

}  // namespace plimsoll::store
