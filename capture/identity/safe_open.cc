#include "capture/identity/safe_open.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace plimsoll::identity {

Result<UniqueFd> open_regular_file(const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  return reopen_regular_file(place, path);
}

Result<UniqueFd> reopen_regular_file(const UniqueFd& place, const std::string& name) {
  struct stat attributes{};
  if (::fstat(place.get(), &attributes) != 0) {
    return fail_errno(errno, "asking about {}", name);
  }
  if (!S_ISREG(attributes.st_mode)) {
    return fail(ErrorCode::kDenied, "{} is not a regular file", name);
  }
  const std::string link = fmt::format("/proc/self/fd/{}", place.get());
  UniqueFd fd(::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", name);
  }
  return fd;
}

}  // namespace plimsoll::identity
