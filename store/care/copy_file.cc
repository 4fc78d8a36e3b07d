#include "store/care/copy_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace plimsoll::store {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

Status write_all(const UniqueFd& fd, const std::string& name, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd.get(), bytes, size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return fail_errno(errno, "writing {}", name);
    }
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

Status copy_file(const UniqueFd& from, const std::string& name, const std::string& to,
                 const std::function<void(uint64_t bytes)>& copied) {
  const UniqueFd output(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!output.valid()) {
    return fail_errno(errno, "creating {}", to);
  }
  std::vector<char> piece(kPieceBytes);
  off_t offset = 0;
  while (true) {
    const ssize_t read = ::pread(from.get(), piece.data(), piece.size(), offset);
    if (read < 0 && errno == EINTR) {
      continue;
    }
    if (read < 0) {
      return fail_errno(errno, "reading {}", name);
    }
    if (read == 0) {
      return ::fsync(output.get()) == 0 ? Status() : fail_errno(errno, "syncing {}", to);
    }
    if (const Status written = write_all(output, to, piece.data(), static_cast<size_t>(read)); !written) {
      return written;
    }
    offset += read;
    copied(static_cast<uint64_t>(read));
  }
}

}  // namespace plimsoll::store
