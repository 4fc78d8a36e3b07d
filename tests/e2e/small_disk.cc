#include "tests/e2e/small_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace plimsoll::testing {

SmallDisk::SmallDisk(uint64_t bytes) {
  const std::string options = fmt::format("size={},mode=0700", bytes);
  const bool is_mounted =
      ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      ::mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  if (!is_mounted) {
    missing_ = fmt::format("this user may not mount a small disk: {}", std::strerror(errno));
  }
}

SmallDisk::~SmallDisk() {
  if (missing_.empty()) {
    ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
}

void SmallDisk::fill() const {
  const UniqueFd file(::open((folder_ / "ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string block(4096, 'x');
  while (::write(file.get(), block.data(), block.size()) > 0) {
  }
}

void SmallDisk::clear() const {
  ::unlink((folder_ / "ballast").c_str());
}

}  // namespace plimsoll::testing
