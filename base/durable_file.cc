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

enum class Target { kFile, kWhateverIsThere };

Status write_piece(const FileCalls& calls, int fd, Bytes content, const std::string& path) {
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
  return {};
}

Status write_all(const FileCalls& calls, int fd, const PiecesOfContent& content, const std::string& path,
                 Target target) {
  if (auto written = content([&](Bytes piece) { return write_piece(calls, fd, piece, path); }); !written) {
    return written;
  }
  const bool is_synced = calls.fsync(fd) == 0;
  const bool has_nothing_to_sync =
      target == Target::kWhateverIsThere && (errno == EINVAL || errno == ENOTSUP);  // devices and pipes
  return is_synced || has_nothing_to_sync ? Status() : fail_errno(errno, "syncing {}", path);
}

// Names of this process's own descriptors: what they lead to is open already, perhaps in another process too.
bool names_descriptor(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

Status write_in_place(const FileCalls& calls, const std::string& path, const PiecesOfContent& content) {
  const int mode = names_descriptor(path) ? O_APPEND : O_TRUNC;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | mode));
  return fd.valid() ? write_all(calls, fd.get(), content, path, Target::kWhateverIsThere)
                    : fail_errno(errno, "opening {}", path);
}

// The file that a chain of symbolic links leads to, whether it exists or not.
Result<std::string> end_of_links(std::string path) {
  constexpr int kMaxLinks = 40;  // as many as the kernel follows
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)); ++links) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error || links == kMaxLinks) {
      return fail_errno(error ? error.value() : ELOOP, "following {}", path);
    }
    // Relative to the folder of the link; an absolute target replaces it.
    path = (std::filesystem::path(path).parent_path() / target).string();
  }
  return path;
}

// Gives the temporary file the owner and mode of the file that it will replace, as far as this user may: a rename would
// otherwise change the owner of another user's file.
void keep_owner_and_mode(int fd, const struct stat& replaced) {
  const bool is_kept = ::fchown(fd, replaced.st_uid, replaced.st_gid) == 0;
  // Another owner's bits to run as the owner are not for this one.
  ::fchmod(fd, replaced.st_mode & (is_kept ? 07777U : 0777U));
}

}  // namespace

const FileCalls& FileCalls::system() {
  static constexpr FileCalls kCalls{::write, ::fsync, ::rename, ::pwrite, ::unlink};
  return kCalls;
}

Status write_file_durably(const std::string& path, Bytes content, const FileCalls& calls) {
  return write_pieces_durably(path, [content](const WritePiece& write) { return write(content); }, calls);
}

Status write_pieces_durably(const std::string& given_path, const PiecesOfContent& content,
                            const FileCalls& calls) {
  struct stat replaced{};
  const bool is_there = ::stat(given_path.c_str(), &replaced) == 0;
  // The kernel refuses links that another user made in a shared folder (fs.protected_symlinks): they are an error here too.
  if (!is_there && errno != ENOENT) {
    return fail_errno(errno, "asking about {}", given_path);
  }
  if (names_descriptor(given_path) || (is_there && !S_ISREG(replaced.st_mode))) {
    return write_in_place(calls, given_path, content);
  }
  const auto end = end_of_links(given_path);
  if (!end) {
    return propagate(end);
  }
  const std::string& path = *end;
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    return fail_errno(errno, "creating {}", temporary);
  }
  if (is_there) {
    keep_owner_and_mode(fd.get(), replaced);
  }
  if (auto written = write_all(calls, fd.get(), content, temporary, Target::kFile); !written) {
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

bool is_standard_output(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
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
