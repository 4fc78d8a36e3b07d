#include "store/directory/disk_usage.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace plimsoll::store {
namespace {

constexpr int64_t kStatBlockBytes = 512;  // of st_blocks, whatever the file system's block

int64_t bytes_of(const std::string& file) {
  struct stat found{};
  return ::lstat(file.c_str(), &found) == 0 ? allocated_bytes_of(found) : 0;
}

Result<struct statvfs> file_system_of(const std::string& path) {
  struct statvfs file_system{};
  return ::statvfs(path.c_str(), &file_system) == 0
             ? Result<struct statvfs>(file_system)
             : fail_errno(errno, "measuring the file system of {}", path);
}

}  // namespace

Result<int64_t> allocated_bytes(const std::string& path) {
  int64_t bytes = bytes_of(path);
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(
      path, std::filesystem::directory_options::skip_permission_denied, error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    bytes += bytes_of(entry->path().string());
  }
  // A folder that was removed meanwhile ends the listing: the next measurement finds it gone.
  const bool is_fine =
      !error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  return is_fine ? Result<int64_t>(bytes) : fail_errno(error.value(), "listing {}", path);
}

int64_t allocated_bytes_of(const struct stat& attributes) {
  return attributes.st_blocks * kStatBlockBytes;
}

Result<int64_t> free_bytes(const std::string& path) {
  const auto file_system = file_system_of(path);
  return file_system ? Result<int64_t>(static_cast<int64_t>(file_system->f_bavail * file_system->f_frsize))
                     : propagate(file_system);
}

Status expect_free_bytes(const std::string& path, int64_t min_bytes) {
  const auto free = min_bytes > 0 ? free_bytes(path) : Result<int64_t>(min_bytes);
  return !free || *free >= min_bytes
             ? Status()
             : with_hint(fail(ErrorCode::kUnavailable,
                              "{} bytes are free on the disk of {}, under the minimum of {}", *free, path,
                              min_bytes),
                         "free some, or lower retention.min_free_bytes");
}

Result<int64_t> disk_bytes(const std::string& path) {
  const auto file_system = file_system_of(path);
  return file_system ? Result<int64_t>(static_cast<int64_t>(file_system->f_blocks * file_system->f_frsize))
                     : propagate(file_system);
}

}  // namespace plimsoll::store
