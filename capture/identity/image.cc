#include "capture/identity/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/time.h"
#include "capture/identity/safe_open.h"

namespace plimsoll::identity {
namespace {

Result<std::shared_ptr<const UniqueFd>> open_for_reading(const std::string& path) {
  auto fd = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd->valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  return fd;
}

// The memory that the file's first byte is mapped to, which holds its ELF header.
Result<uint64_t> header_address(const ProcFs& proc_fs, const MappedFileHint& hint) {
  const auto maps = proc_fs.maps(hint.pid);
  if (!maps) {
    return propagate(maps);
  }
  for (const MapsEntry& entry : *maps) {
    const bool is_by_path = hint.is_without_build_id || !hint.build_id.empty();
    const bool is_same_file = is_by_path ? entry.path == hint.path : entry.file == hint.file;
    if (is_same_file && entry.file.inode != 0 && entry.file_offset == 0) {
      return entry.start;
    }
  }
  return fail(ErrorCode::kNotFound, "process {} does not map the start of {}", hint.pid, hint.path);
}

// On overlay file systems a mapping may tell the device of a layer where stat() tells that of the whole. Whether the file
// of the same inode is the mapped one, its first page in the process's memory decides.
bool starts_as_mapped(const ProcFs& proc_fs, const MappedFileHint& hint, const UniqueFd& fd) {
  constexpr size_t kPageBytes = 4096;
  const auto start = header_address(proc_fs, hint);
  const UniqueFd memory(::open(proc_fs.memory_path(hint.pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kPageBytes> mapped{};
  std::array<char, kPageBytes> in_file{};
  return start && memory.valid() &&
         ::pread(memory.get(), mapped.data(), kPageBytes, static_cast<off_t>(*start)) == kPageBytes &&
         ::pread(fd.get(), in_file.data(), kPageBytes, 0) == kPageBytes && mapped == in_file;
}

Result<OpenedImage> open_file(const ProcFs& proc_fs, const std::string& path, const MappedFileHint& hint) {
  auto opened = open_regular_file(path);
  if (!opened) {
    return propagate(opened);
  }
  const auto fd = std::make_shared<const UniqueFd>(std::move(*opened));
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) {
    return fail_errno(errno, "asking about {}", path);
  }
  const FileId file{major(info.st_dev), minor(info.st_dev), info.st_ino};
  const bool is_same =
      hint.file == file || (hint.file.inode == file.inode && starts_as_mapped(proc_fs, hint, *fd));
  if (hint.build_id.empty() && !hint.is_without_build_id && (file.inode == 0 || !is_same)) {
    return fail(ErrorCode::kNotFound, "{} is not the mapped file any more", path);
  }
  auto image = elf::LoadedImage::from_file(elf::read_at_of(fd, path));
  if (!image) {
    return propagate(image, "reading {}", path);
  }
  // Where the mapped file has no build ID, the file at its path must have none either.
  const bool has_that_id =
      hint.is_without_build_id ? image->build_id().empty() : image->build_id() == hint.build_id;
  if ((hint.is_without_build_id || !hint.build_id.empty()) && !has_that_id) {
    return fail(ErrorCode::kNotFound, "{} has a different build ID than the mapped file", path);
  }
  return OpenedImage{std::move(*image), fd, path};
}

// A process that lived for a moment is gone by now, and with it its view of a container's files.
std::vector<std::string> paths_seen_by_ancestors(const ProcFs& proc_fs, const MappedFileHint& hint) {
  std::vector<std::string> paths;
  for (const uint32_t pid : hint.ancestors) {
    if (pid != 0) {
      paths.push_back(proc_fs.path_in_root(pid, hint.path));
    }
  }
  return paths;
}

Result<OpenedImage> open_memory(const ProcFs& proc_fs, const MappedFileHint& hint) {
  const auto start = header_address(proc_fs, hint);
  if (!start) {
    return propagate(start);
  }
  const std::string path = proc_fs.memory_path(hint.pid);
  auto fd = open_for_reading(path);
  if (!fd) {
    return propagate(fd);
  }
  auto image = elf::LoadedImage::from_memory(elf::read_at_of(*fd, path), *start);
  if (!image) {
    return propagate(image, "reading {} in {}", hint.path, path);
  }
  if (!hint.build_id.empty() && image->build_id() != hint.build_id) {
    return fail(ErrorCode::kNotFound, "{} has a different build ID in {}", hint.path, path);
  }
  return OpenedImage{std::move(*image), nullptr, path};
}

}  // namespace

Result<OpenedImage> open_image(const ProcFs& proc_fs, const MappedFileHint& hint) {
  auto opened = open_file(proc_fs, proc_fs.path_in_root(hint.pid, hint.path), hint);
  if (opened) {
    return opened;
  }
  std::vector<std::string> candidates = paths_seen_by_ancestors(proc_fs, hint);
  candidates.insert(candidates.begin(), proc_fs.executable_link(hint.pid));
  candidates.emplace_back(hint.path);
  for (const std::string& path : candidates) {
    if (auto other = open_file(proc_fs, path, hint); other) {
      return other;
    }
  }
  auto memory = open_memory(proc_fs, hint);
  return memory ? std::move(memory) : std::move(opened);
}

int64_t LiveImages::changed_ns(const MappedFileHint& hint) const {
  std::vector<std::string> candidates = paths_seen_by_ancestors(proc_fs_, hint);
  candidates.insert(candidates.begin(), proc_fs_.path_in_root(hint.pid, hint.path));
  candidates.emplace_back(hint.path);
  for (const std::string& path : candidates) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && info.st_ino == hint.file.inode) {
      return info.st_ctim.tv_sec * kNsPerSecond + info.st_ctim.tv_nsec;
    }
  }
  return 0;
}

Result<OpenedImage> LiveImages::open(const MappedFileHint& hint) const {
  auto opened = open_image(proc_fs_, hint);
  denied_ += !opened && opened.error().code == ErrorCode::kDenied ? 1 : 0;
  return opened;
}

}  // namespace plimsoll::identity
