// Whether a descriptor, or a path, still is of the file that it was.
#pragma once

#include <sys/stat.h>

namespace plimsoll::appprof {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  // Of nothing where the descriptor is closed. Async-signal-safe.
  static FileIdentity of(int descriptor) noexcept {
    struct stat status{};
    return ::fstat(descriptor, &status) == 0 ? FileIdentity{status.st_dev, status.st_ino} : FileIdentity{};
  }
  // Of nothing where nothing is there. Follows no link.
  static FileIdentity at(const char* path) noexcept {
    struct stat status{};
    return ::lstat(path, &status) == 0 ? FileIdentity{status.st_dev, status.st_ino} : FileIdentity{};
  }
  bool operator==(const FileIdentity&) const = default;
};

}  // namespace plimsoll::appprof
