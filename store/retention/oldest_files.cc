#include "store/retention/oldest_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "store/directory/disk_usage.h"

namespace plimsoll::store {
namespace {

struct File {
  std::string path;
  int64_t changed_ns = 0;
  int64_t bytes = 0;
};

Result<std::vector<File>> list_files(const std::string& folder, std::string_view suffix) {
  std::vector<File> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    struct stat found{};
    if (path.ends_with(suffix) && ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
      files.push_back({path, int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec,
                       allocated_bytes_of(found)});
    }
  }
  const bool is_listed = !error || error == std::errc::no_such_file_or_directory;
  return is_listed ? Result<std::vector<File>>(std::move(files))
                   : fail_errno(error.value(), "listing {}", folder);
}

}  // namespace

Result<RemovedFiles> remove_oldest_files(const std::string& folder, std::string_view suffix,
                                         int64_t max_bytes) {
  auto files = list_files(folder, suffix);
  if (!files) {
    return propagate(files);
  }
  int64_t bytes = 0;
  for (const File& file : *files) {
    bytes += file.bytes;
  }
  std::ranges::sort(*files, {}, &File::changed_ns);
  RemovedFiles removed;
  for (const File& file : *files) {
    if (bytes <= max_bytes) {
      break;
    }
    if (::unlink(file.path.c_str()) != 0 && errno != ENOENT) {
      return fail_errno(errno, "removing {}", file.path);
    }
    bytes -= file.bytes;
    removed.bytes += file.bytes;
    ++removed.files;
  }
  return removed;
}

}  // namespace plimsoll::store
