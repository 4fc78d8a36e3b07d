#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "base/host_name.h"

namespace plimsoll {
namespace {

// A number and the name of a machine.
constexpr uint64_t kMaxHolderBytes = 512;

// Who looks (expect_unlocked_file()) holds a lock for microseconds.
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kBetweenTries{2};

// "process 4711", "process 4711 on db2".
std::string holder_of(const std::string& path) {
  const std::string text = read_file(path, kMaxHolderBytes).value_or("?");
  const std::string_view lines(text);
  const size_t line_end = lines.find('\n');
  const std::string_view process = lines.substr(0, line_end);
  // An older version writes no second line.
  const std::string_view rest = line_end == std::string_view::npos ? "" : lines.substr(line_end + 1);
  const std::string_view host = rest.substr(0, rest.find('\n'));
  return host.empty() || host == host_name() ? fmt::format("process {}", process)
                                             : fmt::format("process {} on {}", process, host);
}

// `operation`: LOCK_EX or LOCK_SH.
Status lock_file(const UniqueFd& file, int operation, const std::string& path, const std::string& what,
                 const std::string& hint) {
  if (::flock(file.get(), operation | LOCK_NB) == 0) {
    return {};
  }
  if (errno != EWOULDBLOCK) {
    return fail_errno(errno, "locking {}", path);
  }
  return with_hint(fail(ErrorCode::kConflict, "{} {}", what, holder_of(path)), hint);
}

}  // namespace

Result<UniqueFd> take_lock_file(const std::string& path, const std::string& what, const std::string& hint) {
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  Status locked = lock_file(lock, LOCK_EX, path, what, hint);
  for (int tries = 1; tries < kTries && !locked && locked.error().code == ErrorCode::kConflict; ++tries) {
    std::this_thread::sleep_for(kBetweenTries);
    locked = lock_file(lock, LOCK_EX, path, what, hint);
  }
  if (!locked) {
    return propagate(locked);
  }
  // Without truncating first: a full disk must not take the number that stands there.
  const std::string holder = fmt::format("{}\n{}\n", ::getpid(), host_name());
  if (::pwrite(lock.get(), holder.data(), holder.size(), 0) < 0 ||
      ::ftruncate(lock.get(), static_cast<off_t>(holder.size())) != 0) {
    return fail_errno(errno, "writing {}", path);
  }
  return lock;
}

Status expect_unlocked_file(const std::string& path, const std::string& what, const std::string& hint) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return errno == ENOENT ? Status() : fail_errno(errno, "opening {}", path);
  }
  return lock_file(file, LOCK_SH, path, what, hint);
}

}  // namespace plimsoll
