#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace plimsoll {

Result<UniqueFd> take_lock_file(const std::string& path, const std::string& what, std::string hint) {
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return fail_errno(errno, "locking {}", path);
    }
    const std::string holder = read_file(path, 64).value_or("?");
    return with_hint(fail(ErrorCode::kConflict, "{} process {}", what, holder.substr(0, holder.find('\n'))),
                     std::move(hint));
  }
  // Without truncating first: a full disk must not take the number that stands there.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0 ||
      ::ftruncate(lock.get(), static_cast<off_t>(pid.size())) != 0) {
    return fail_errno(errno, "writing {}", path);
  }
  return lock;
}

}  // namespace plimsoll
