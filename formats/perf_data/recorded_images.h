// The files that a recording's processes had mapped, where this machine has them: files of the same path or build ID.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "capture/identity/image.h"

namespace plimsoll::perf_data {

// A recording comes from outside: the paths in it are hints, and only regular files below the given folders are
// opened, reached through no symbolic link out of them. A file counts only if it has the build ID that was recorded
// or, where none was, if device and inode are the recorded ones, and neither the inode's generation nor the time of
// the file's last change says that it is another one: numbers of inodes are used again, and files are written over.
class RecordedImages : public identity::ImageSource {
 public:
  struct Folders {
    std::vector<std::string> binaries;    // may hold a copy of another machine's file system
    std::vector<std::string> debug = {};  // with .build-id below them
  };
  // `recorded_ns`: wall clock, when the recording had ended; 0: unknown.
  explicit RecordedImages(const Folders& folders, int64_t recorded_ns = 0);

  // kDenied outside the folders, kNotFound where there is no such file.
  Result<identity::OpenedImage> open(const identity::MappedFileHint& hint) const override;
  bool are_of_this_machine() const override { return false; }
  // Files that were found where the recording says, and are others than the recorded ones; some, if there are many.
  const std::set<std::string>& replaced() const { return replaced_; }

 private:
  Result<identity::OpenedImage> open_at(const std::string& path, const identity::MappedFileHint& hint) const;

  std::vector<std::string> roots_;        // without symbolic links
  std::vector<std::string> debug_roots_;  // likewise
  const int64_t recorded_ns_;
  mutable std::set<std::string> replaced_;
};

}  // namespace plimsoll::perf_data
