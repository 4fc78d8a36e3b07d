// The files that a recording's processes had mapped, where this machine has them: files of the same path or build ID.
#pragma once

#include <string>
#include <vector>

#include "daemon/identity/image.h"

namespace plimsoll::perf_data {

// A recording comes from outside: the paths in it are hints, and only regular files below the given folders are opened,
// reached through no symbolic link out of them. A file counts only if it has the build ID that was recorded or, where none
// was, if device and inode are the recorded ones.
class RecordedImages : public identity::ImageSource {
 public:
  explicit RecordedImages(const std::vector<std::string>& roots);

  // kDenied outside the folders, kNotFound where there is no such file.
  Result<identity::OpenedImage> open(const identity::MappedFileHint& hint) const override;
  bool are_of_this_machine() const override { return false; }

 private:
  std::vector<std::string> roots_;  // without symbolic links
};

}  // namespace plimsoll::perf_data
