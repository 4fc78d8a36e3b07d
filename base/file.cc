#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

namespace plimsoll {

Result<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  std::string content;
  constexpr size_t kChunkBytes = size_t{64} << 10;
  while (true) {
    const size_t old_size = content.size();
    content.resize(old_size + kChunkBytes);
    const ssize_t got = ::read(fd.get(), content.data() + old_size, kChunkBytes);
    if (got < 0 && errno == EINTR) {
      content.resize(old_size);
      continue;
    }
    if (got < 0) {
      return fail_errno(errno, "reading {}", path);
    }
    content.resize(old_size + static_cast<size_t>(got));
    if (content.size() > max_bytes) {
      return fail(ErrorCode::kTooLarge, "{} is larger than its limit of {} bytes", path, max_bytes);
    }
    if (got == 0) {
      return content;
    }
  }
}

Result<std::string> read_beginning(const std::string& path, size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  std::string content(max_bytes, '\0');
  size_t filled = 0;
  while (filled < max_bytes) {
    const ssize_t got = ::read(fd.get(), content.data() + filled, max_bytes - filled);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return fail_errno(errno, "reading {}", path);
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<size_t>(got);
  }
  content.resize(filled);
  return content;
}

Result<std::string> read_at(const UniqueFd& fd, const std::string& name, uint64_t offset,
                            uint64_t size_bytes) {
  std::string bytes(static_cast<size_t>(size_bytes), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return fail_errno(errno, "reading {}", name);
    }
    if (got == 0) {
      return fail(ErrorCode::kCorrupt, "{} ends before byte {}", name, offset + size_bytes);
    }
    done += static_cast<size_t>(got);
  }
  return bytes;
}

Result<UniqueFd> unnamed_file(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    // Not every file system has files without names.
    std::string path = folder + "/plimsoll-XXXXXX";
    fd = UniqueFd(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd.valid()) {
      return fail_errno(errno, "creating a temporary file in {}", folder);
    }
    ::unlink(path.c_str());
  }
  return fd;
}

Result<MappedFile> MappedFile::open(const std::string& path, uint64_t max_bytes) {
  // O_NONBLOCK: a FIFO in the way must not hang us before fstat tells what it is.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  return map(fd, path, max_bytes);
}

Result<MappedFile> MappedFile::map(const UniqueFd& fd, const std::string& name, uint64_t max_bytes) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    return fail_errno(errno, "examining {}", name);
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kInvalid, "{} is not a regular file", name);
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > max_bytes) {
    return fail(ErrorCode::kTooLarge, "{} has {} bytes, over its limit of {}", name, size, max_bytes);
  }
  if (size == 0) {
    return MappedFile{};
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) {
    return fail_errno(errno, "mapping {}", name);
  }
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace plimsoll
