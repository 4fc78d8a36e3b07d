#include "base/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/unique_fd.h"

namespace plimsoll {
namespace {

Status write_all(const FileCalls& calls, int fd, Bytes content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = calls.write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return fail_errno(errno, "writing {}", path);
    }
    content = content.subspan(static_cast<size_t>(written));
  }
  if (calls.fsync(fd) != 0) {
    return fail_errno(errno, "syncing {}", path);
  }
  return {};
}

}  // namespace

const FileCalls& FileCalls::system() {
  static constexpr FileCalls kCalls{::write, ::fsync, ::rename, ::pwrite, ::unlink};
  return kCalls;
}

Status write_file_durably(const std::string& path, Bytes content, const FileCalls& calls) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    return fail_errno(errno, "creating {}", temporary);
  }
  if (auto written = write_all(calls, fd.get(), content, temporary); !written) {
    calls.unlink(temporary.c_str());
    return written;
  }
  if (calls.rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    calls.unlink(temporary.c_str());
    return fail_errno(error_number, "renaming {} to {}", temporary, path);
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return sync_folder(folder.empty() ? "." : folder, calls);
}

Status sync_folder(const std::string& folder, const FileCalls& calls) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", folder);
  }
  if (calls.fsync(fd.get()) != 0) {
    return fail_errno(errno, "syncing {}", folder);
  }
  return {};
}

}  // namespace plimsoll
