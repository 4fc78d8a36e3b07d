#include "tests/store/file_layer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace plimsoll::testing {
namespace {

enum class LayerMode : uint8_t { kOff, kSkippingSyncs, kRecording, kFailing };

struct Layer {
  std::mutex mutex;
  LayerMode mode = LayerMode::kOff;
  std::string folder;  // with a slash at its end
  FileFault fault;
  uint64_t operations = 0;
  uint32_t last_handle = 0;
  std::unordered_map<int, uint32_t>
      handles;  // of descriptors; those that were closed behind our back are replaced when they come again
  std::vector<FileOperation> record;
};

// Not constructed before main(): others call write() earlier.
Layer& layer() {
  static Layer* const layer = new Layer();
  return *layer;
}

bool is_watching(const Layer& state) {
  return state.mode == LayerMode::kRecording || state.mode == LayerMode::kFailing;
}

std::string path_of_descriptor(int fd) {
  std::array<char, PATH_MAX> target{};
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link.data(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : std::string();
}

// Below the folder; nothing: it lies elsewhere.
std::optional<std::string> below(const Layer& state, int folder_fd, const char* path) {
  if (!is_watching(state) || path == nullptr) {
    return std::nullopt;
  }
  std::string full = path;
  if (full.empty() || full.front() != '/') {
    std::array<char, PATH_MAX> working{};
    const std::string folder = folder_fd != AT_FDCWD ? path_of_descriptor(folder_fd)
                               : ::getcwd(working.data(), working.size()) == nullptr ? std::string()
                                                                                     : working.data();
    full = folder + "/" + full;
  }
  full = std::filesystem::path(full).lexically_normal().string();
  if (full.ends_with('/')) {
    full.pop_back();
  }
  if (full + "/" == state.folder) {
    return "";
  }
  if (!full.starts_with(state.folder) || full.ends_with("-shm")) {
    return std::nullopt;
  }
  return full.substr(state.folder.size());
}

// Counts one, and says how it fails.
std::optional<FileFault::Kind> next_fault(Layer& state) {
  const uint64_t number = state.operations++;
  if (state.mode != LayerMode::kFailing || number < state.fault.first ||
      number - state.fault.first >= state.fault.count) {
    return std::nullopt;
  }
  const bool is_further = number > state.fault.first;
  return state.fault.kind == FileFault::Kind::kShort && is_further ? FileFault::Kind::kNoSpace
                                                                   : state.fault.kind;
}

int failure_of(FileFault::Kind kind) {
  if (kind == FileFault::Kind::kEnd) {
    ::_exit(0);
  }
  errno = kind == FileFault::Kind::kIoError ? EIO : ENOSPC;
  return -1;
}

void keep(Layer& state, FileOperation operation) {
  if (state.mode == LayerMode::kRecording) {
    state.record.push_back(std::move(operation));
  }
}

int plain_open(int folder_fd, const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, folder_fd, path, flags, mode));
}

int layered_open(int folder_fd, const char* path, int flags, mode_t mode) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  const auto name = below(state, folder_fd, path);
  if (!name) {
    const int fd = plain_open(folder_fd, path, flags, mode);
    state.handles.erase(fd);
    return fd;
  }
  const bool is_there = ::faccessat(folder_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  const bool creates = (flags & O_CREAT) != 0 && !is_there;
  const bool truncates = (flags & O_TRUNC) != 0 && is_there;
  if (creates || truncates) {
    if (const auto fault = next_fault(state)) {
      return failure_of(*fault);
    }
  }
  const int fd = plain_open(folder_fd, path, flags, mode);
  if (fd < 0) {
    return fd;
  }
  const uint32_t handle = ++state.last_handle;
  state.handles[fd] = handle;
  keep(state, {.action = creates ? FileAction::kCreate : FileAction::kOpen, .handle = handle, .path = *name});
  if (truncates) {
    keep(state, {.action = FileAction::kTruncate, .handle = handle});
  }
  return fd;
}

// Of a regular file below the folder: another descriptor of that number may have been opened behind our back.
std::optional<uint32_t> handle_of(const Layer& state, int fd, mode_t type = S_IFREG) {
  const auto found = state.handles.find(fd);
  struct stat status{};
  const bool is_of_type =
      found != state.handles.end() && ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type;
  return is_watching(state) && is_of_type ? std::optional(found->second) : std::nullopt;
}

constexpr uint64_t kAtPosition = UINT64_MAX;

ssize_t plain_write(int fd, const char* bytes, size_t size, uint64_t offset) {
  return offset == kAtPosition ? ::syscall(SYS_write, fd, bytes, size)
                               : ::syscall(SYS_pwrite64, fd, bytes, size, offset);
}

ssize_t layered_write(int fd, const char* bytes, size_t size, uint64_t offset) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  const auto handle = handle_of(state, fd);
  if (!handle) {
    return plain_write(fd, bytes, size, offset);
  }
  if (const auto fault = next_fault(state)) {
    if (*fault == FileFault::Kind::kEnd) {
      static_cast<void>(plain_write(fd, bytes, size / 2, offset));
    }
    if (*fault == FileFault::Kind::kShort && size > 1) {
      return plain_write(fd, bytes, size / 2, offset);
    }
    return failure_of(*fault);
  }
  uint64_t at = offset;
  if (offset == kAtPosition) {
    const bool appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    at = static_cast<uint64_t>(::lseek(fd, 0, appends ? SEEK_END : SEEK_CUR));
  }
  const ssize_t written = plain_write(fd, bytes, size, offset);
  if (written > 0) {
    keep(state, {.action = FileAction::kWrite,
                 .handle = *handle,
                 .offset = at,
                 .bytes = std::string(bytes, static_cast<size_t>(written))});
  }
  return written;
}

ssize_t layered_write_pieces(int fd, const struct iovec* pieces, int count, uint64_t offset) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    all.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return layered_write(fd, all.data(), all.size(), offset);
}

int layered_truncate(int fd, off_t size) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  const auto handle = handle_of(state, fd);
  if (handle) {
    if (const auto fault = next_fault(state)) {
      return failure_of(*fault);
    }
  }
  const int done = static_cast<int>(::syscall(SYS_ftruncate, fd, size));
  if (handle && done == 0) {
    keep(state, {.action = FileAction::kTruncate, .handle = *handle, .offset = static_cast<uint64_t>(size)});
  }
  return done;
}

int layered_sync(int fd, long call) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  const auto of_file = handle_of(state, fd);
  const auto handle = of_file ? of_file : handle_of(state, fd, S_IFDIR);
  if (handle) {
    if (const auto fault = next_fault(state)) {
      return failure_of(*fault);
    }
    keep(state, {.action = FileAction::kSync, .handle = *handle});
  }
  return state.mode != LayerMode::kOff ? 0 : static_cast<int>(::syscall(call, fd));
}

// One name of a folder.
template <typename Call>
int layered_change(FileAction action, int folder_fd, const char* path, Call call) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  const auto name = below(state, folder_fd, path);
  struct stat status{};
  const bool is_there = name && ::fstatat(folder_fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
  const bool makes = action == FileAction::kMakeFolder;
  if (name && is_there != makes) {
    if (const auto fault = next_fault(state)) {
      return failure_of(*fault);
    }
  }
  const int done = static_cast<int>(call());
  if (name && done == 0) {
    keep(state, {.action = action, .path = *name});
  }
  return done;
}

int layered_move(FileAction action, int from_fd, const char* from, int to_fd, const char* to,
                 unsigned int flags) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  const auto name = below(state, from_fd, from);
  const auto new_name = below(state, to_fd, to);
  const bool is_ours = name && new_name;
  if (is_ours && ::faccessat(from_fd, from, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    if (const auto fault = next_fault(state)) {
      return failure_of(*fault);
    }
  }
  const long done = action == FileAction::kLink ? ::syscall(SYS_linkat, from_fd, from, to_fd, to, flags)
                                                : ::syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
  if (is_ours && done == 0) {
    keep(state, {.action = action, .path = *name, .to = *new_name});
  }
  return static_cast<int>(done);
}

int layered_unlink(int folder_fd, const char* path, int flags) {
  const bool is_folder = (flags & AT_REMOVEDIR) != 0;
  return layered_change(is_folder ? FileAction::kRemoveFolder : FileAction::kUnlink, folder_fd, path,
                        [&] { return ::syscall(SYS_unlinkat, folder_fd, path, flags); });
}

int layered_make_folder(int folder_fd, const char* path, mode_t mode) {
  return layered_change(FileAction::kMakeFolder, folder_fd, path,
                        [&] { return ::syscall(SYS_mkdirat, folder_fd, path, mode); });
}

void start(LayerMode mode, const std::string& folder, const FileFault& fault) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  state.mode = mode;
  state.folder = folder + "/";
  state.fault = fault;
  state.operations = 0;
  state.last_handle = 0;
  state.handles.clear();
  state.record.clear();
}

}  // namespace

std::string name_of(FileAction action) {
  switch (action) {
    case FileAction::kOpen:
      return "open";
    case FileAction::kCreate:
      return "create";
    case FileAction::kWrite:
      return "write";
    case FileAction::kTruncate:
      return "truncate";
    case FileAction::kSync:
      return "fsync";
    case FileAction::kRename:
      return "rename";
    case FileAction::kExchange:
      return "exchange";
    case FileAction::kLink:
      return "link";
    case FileAction::kUnlink:
      return "unlink";
    case FileAction::kMakeFolder:
      return "mkdir";
    case FileAction::kRemoveFolder:
      return "rmdir";
    case FileAction::kMark:
      return "mark";
  }
  return "";
}

void FileLayer::record(const std::string& folder) {
  start(LayerMode::kRecording, folder, {});
}

std::vector<FileOperation> FileLayer::take() {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  state.mode = LayerMode::kSkippingSyncs;
  return std::move(state.record);
}

void FileLayer::fail(const std::string& folder, const FileFault& fault) {
  start(LayerMode::kFailing, folder, fault);
}

void FileLayer::only_skip_syncs() {
  start(LayerMode::kSkippingSyncs, "", {});
}

void FileLayer::mark(const std::string& text) {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  keep(state, {.action = FileAction::kMark, .path = text});
}

uint64_t FileLayer::operations() {
  Layer& state = layer();
  const std::lock_guard lock(state.mutex);
  return state.operations;
}

// Under other names here: <fcntl.h> has these as macros and aliases, which differ by how large files are.
extern "C" {
int plimsoll_layer_open(const char* path, int flags, ...) __asm__("open");
int plimsoll_layer_open64(const char* path, int flags, ...) __asm__("open64");
int plimsoll_layer_openat(int folder, const char* path, int flags, ...) __asm__("openat");
int plimsoll_layer_openat64(int folder, const char* path, int flags, ...) __asm__("openat64");
int plimsoll_layer_open_2(const char* path, int flags) __asm__("__open_2");
int plimsoll_layer_open64_2(const char* path, int flags) __asm__("__open64_2");
int plimsoll_layer_openat_2(int folder, const char* path, int flags) __asm__("__openat_2");
int plimsoll_layer_openat64_2(int folder, const char* path, int flags) __asm__("__openat64_2");
int plimsoll_layer_creat(const char* path, mode_t mode) __asm__("creat");
int plimsoll_layer_creat64(const char* path, mode_t mode) __asm__("creat64");
ssize_t plimsoll_layer_write(int fd, const void* bytes, size_t size) __asm__("write");
ssize_t plimsoll_layer_pwrite(int fd, const void* bytes, size_t size, off_t offset) __asm__("pwrite");
ssize_t plimsoll_layer_pwrite64(int fd, const void* bytes, size_t size, off_t offset) __asm__("pwrite64");
ssize_t plimsoll_layer_writev(int fd, const struct iovec* pieces, int count) __asm__("writev");
ssize_t plimsoll_layer_pwritev(int fd, const struct iovec* pieces, int count,
                               off_t offset) __asm__("pwritev");
ssize_t plimsoll_layer_pwritev64(int fd, const struct iovec* pieces, int count,
                                 off_t offset) __asm__("pwritev64");
int plimsoll_layer_ftruncate(int fd, off_t size) __asm__("ftruncate");
int plimsoll_layer_ftruncate64(int fd, off_t size) __asm__("ftruncate64");
int plimsoll_layer_fsync(int fd) __asm__("fsync");
int plimsoll_layer_fdatasync(int fd) __asm__("fdatasync");
int plimsoll_layer_rename(const char* from, const char* to) __asm__("rename");
int plimsoll_layer_renameat(int from_fd, const char* from, int to_fd, const char* to) __asm__("renameat");
int plimsoll_layer_renameat2(int from_fd, const char* from, int to_fd, const char* to,
                             unsigned int flags) __asm__("renameat2");
int plimsoll_layer_link(const char* from, const char* to) __asm__("link");
int plimsoll_layer_linkat(int from_fd, const char* from, int to_fd, const char* to,
                          int flags) __asm__("linkat");
int plimsoll_layer_unlink(const char* path) __asm__("unlink");
int plimsoll_layer_unlinkat(int folder, const char* path, int flags) __asm__("unlinkat");
int plimsoll_layer_remove(const char* path) __asm__("remove");
int plimsoll_layer_mkdir(const char* path, mode_t mode) __asm__("mkdir");
int plimsoll_layer_mkdirat(int folder, const char* path, mode_t mode) __asm__("mkdirat");
int plimsoll_layer_rmdir(const char* path) __asm__("rmdir");

// The mode is there where the flags say that a file may be made.
#define PLIMSOLL_MODE_ARGUMENT(flags)                            \
  mode_t mode = 0;                                               \
  if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) != 0) {  \
    va_list arguments;                                           \
    va_start(arguments, flags);                                  \
    mode = static_cast<mode_t>(va_arg(arguments, unsigned int)); \
    va_end(arguments);                                           \
  }

int plimsoll_layer_open(const char* path, int flags, ...) {
  PLIMSOLL_MODE_ARGUMENT(flags)
  return layered_open(AT_FDCWD, path, flags, mode);
}
int plimsoll_layer_open64(const char* path, int flags, ...) {
  PLIMSOLL_MODE_ARGUMENT(flags)
  return layered_open(AT_FDCWD, path, flags, mode);
}
int plimsoll_layer_openat(int folder, const char* path, int flags, ...) {
  PLIMSOLL_MODE_ARGUMENT(flags)
  return layered_open(folder, path, flags, mode);
}
int plimsoll_layer_openat64(int folder, const char* path, int flags, ...) {
  PLIMSOLL_MODE_ARGUMENT(flags)
  return layered_open(folder, path, flags, mode);
}
int plimsoll_layer_open_2(const char* path, int flags) {
  return layered_open(AT_FDCWD, path, flags, 0);
}
int plimsoll_layer_open64_2(const char* path, int flags) {
  return layered_open(AT_FDCWD, path, flags, 0);
}
int plimsoll_layer_openat_2(int folder, const char* path, int flags) {
  return layered_open(folder, path, flags, 0);
}
int plimsoll_layer_openat64_2(int folder, const char* path, int flags) {
  return layered_open(folder, path, flags, 0);
}
int plimsoll_layer_creat(const char* path, mode_t mode) {
  return layered_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
int plimsoll_layer_creat64(const char* path, mode_t mode) {
  return layered_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
ssize_t plimsoll_layer_write(int fd, const void* bytes, size_t size) {
  return layered_write(fd, static_cast<const char*>(bytes), size, kAtPosition);
}
ssize_t plimsoll_layer_pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return layered_write(fd, static_cast<const char*>(bytes), size, static_cast<uint64_t>(offset));
}
ssize_t plimsoll_layer_pwrite64(int fd, const void* bytes, size_t size, off_t offset) {
  return layered_write(fd, static_cast<const char*>(bytes), size, static_cast<uint64_t>(offset));
}
ssize_t plimsoll_layer_writev(int fd, const struct iovec* pieces, int count) {
  return layered_write_pieces(fd, pieces, count, kAtPosition);
}
ssize_t plimsoll_layer_pwritev(int fd, const struct iovec* pieces, int count, off_t offset) {
  return layered_write_pieces(fd, pieces, count, static_cast<uint64_t>(offset));
}
ssize_t plimsoll_layer_pwritev64(int fd, const struct iovec* pieces, int count, off_t offset) {
  return layered_write_pieces(fd, pieces, count, static_cast<uint64_t>(offset));
}
int plimsoll_layer_ftruncate(int fd, off_t size) {
  return layered_truncate(fd, size);
}
int plimsoll_layer_ftruncate64(int fd, off_t size) {
  return layered_truncate(fd, size);
}
int plimsoll_layer_fsync(int fd) {
  return layered_sync(fd, SYS_fsync);
}
int plimsoll_layer_fdatasync(int fd) {
  return layered_sync(fd, SYS_fdatasync);
}
int plimsoll_layer_rename(const char* from, const char* to) {
  return layered_move(FileAction::kRename, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int plimsoll_layer_renameat(int from_fd, const char* from, int to_fd, const char* to) {
  return layered_move(FileAction::kRename, from_fd, from, to_fd, to, 0);
}
int plimsoll_layer_renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned int flags) {
  return layered_move((flags & RENAME_EXCHANGE) != 0 ? FileAction::kExchange : FileAction::kRename, from_fd,
                      from, to_fd, to, flags);
}
int plimsoll_layer_link(const char* from, const char* to) {
  return layered_move(FileAction::kLink, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int plimsoll_layer_linkat(int from_fd, const char* from, int to_fd, const char* to, int flags) {
  return layered_move(FileAction::kLink, from_fd, from, to_fd, to, static_cast<unsigned int>(flags));
}
int plimsoll_layer_unlink(const char* path) {
  return layered_unlink(AT_FDCWD, path, 0);
}
int plimsoll_layer_unlinkat(int folder, const char* path, int flags) {
  return layered_unlink(folder, path, flags);
}
int plimsoll_layer_remove(const char* path) {
  struct stat status{};
  const bool is_folder = ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
  return layered_unlink(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}
int plimsoll_layer_mkdir(const char* path, mode_t mode) {
  return layered_make_folder(AT_FDCWD, path, mode);
}
int plimsoll_layer_mkdirat(int folder, const char* path, mode_t mode) {
  return layered_make_folder(folder, path, mode);
}
int plimsoll_layer_rmdir(const char* path) {
  return layered_unlink(AT_FDCWD, path, AT_REMOVEDIR);
}
}

}  // namespace plimsoll::testing
