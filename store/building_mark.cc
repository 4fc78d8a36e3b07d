#include "store/building_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace plimsoll::store {

Result<BuildingMark> BuildingMark::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  Content left;
  // Shorter: it is new, or its disk was full.
  if (::pread(fd.get(), &left, sizeof left, 0) != sizeof left) {
    left = {};
  }
  return BuildingMark(std::move(fd), left);
}

Status BuildingMark::begin(int64_t sequence) {
  return write({sequence, sequence == left_.sequence ? left_.times + 1 : 1});
}

Status BuildingMark::end() {
  return written_.sequence == 0 ? Status() : write({});
}

Status BuildingMark::write(Content content) {
  if (::pwrite(fd_.get(), &content, sizeof content, 0) != sizeof content) {
    return fail_errno(errno, "writing which profile is being built");
  }
  written_ = content;
  return {};
}

}  // namespace plimsoll::store
