// No file is ever found: binaries are known by path and inode.
#pragma once

#include "capture/identity/image.h"

namespace plimsoll::identity {

class NoImages : public ImageSource {
 public:
  Result<OpenedImage> open(const MappedFileHint& hint) const override {
    return fail(ErrorCode::kNotFound, "no {}", hint.path);
  }
  bool are_of_this_machine() const override { return true; }
};

}  // namespace plimsoll::identity
