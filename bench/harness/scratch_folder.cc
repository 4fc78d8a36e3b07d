#include "bench/harness/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>

namespace plimsoll::bench {

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error).string() + "/plimsoll-bench-XXXXXX";
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return fail_errno(error ? error.value() : errno, "making a folder {}", path);
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace plimsoll::bench
