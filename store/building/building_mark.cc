#include "store/building/building_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace plimsoll::store {

Result<BuildingMark> BuildingMark::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  int64_t left = 0;
  // Shorter: it is new, or the disk was full.
  if (::pread(fd.get(), &left, sizeof left, 0) != sizeof left) {
    left = 0;
  }
  return BuildingMark(std::move(fd), left);
}

void BuildingMark::set(int64_t sequence) {
  static_cast<void>(::pwrite(fd_.get(), &sequence, sizeof sequence, 0) == sizeof sequence);
}

}  // namespace plimsoll::store
