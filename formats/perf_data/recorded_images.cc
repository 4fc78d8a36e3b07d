#include "formats/perf_data/recorded_images.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/time.h"
#include "capture/identity/safe_open.h"
#include "elf/build_id.h"

namespace plimsoll::perf_data {
namespace {

constexpr size_t kMaxReplaced = 10;  // enough to say what is wrong

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// What tells a file from others, as far as this machine does.
struct FileFacts {
  identity::FileId id;
  std::optional<uint32_t> generation;  // absent: the file system keeps none
  int64_t changed_ns = 0;
};

Result<FileFacts> facts_of(const UniqueFd& fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    return fail_errno(errno, "asking about {}", path);
  }
  FileFacts facts{.id = {major(info.st_dev), minor(info.st_dev), info.st_ino},
                  .generation = {},
                  .changed_ns = info.st_ctim.tv_sec * kNsPerSecond + info.st_ctim.tv_nsec};
  int generation = 0;  // 32 bits, whatever the type in the ioctl's name says
  if (::ioctl(fd.get(), FS_IOC_GETVERSION, &generation) == 0) {
    facts.generation = static_cast<uint32_t>(generation);
  }
  return facts;
}

bool is_recorded_file(const FileFacts& facts, const identity::MappedFileHint& hint, int64_t recorded_ns) {
  const bool is_other_generation =
      hint.generation != 0 && facts.generation && *facts.generation != static_cast<uint32_t>(hint.generation);
  const bool was_changed_since = recorded_ns != 0 && facts.changed_ns > recorded_ns;
  return hint.file.inode != 0 && facts.id == hint.file && !is_other_generation && !was_changed_since;
}

std::vector<std::string> without_links(const std::vector<std::string>& folders) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    const auto real = std::filesystem::canonical(folder, error);
    if (!error) {
      found.push_back(real.string());
    }
  }
  return found;
}

}  // namespace

RecordedImages::RecordedImages(const Folders& folders, int64_t recorded_ns)
    : roots_(without_links(folders.binaries)),
      debug_roots_(without_links(folders.debug)),
      recorded_ns_(recorded_ns) {}

Result<identity::OpenedImage> RecordedImages::open(const identity::MappedFileHint& hint) const {
  auto opened = open_at(std::string(hint.path), hint);
  // A build ID tells whether a copy elsewhere is the file; device and inode are those of another machine there.
  if (opened || hint.build_id.empty()) {
    return opened;
  }
  for (const std::string& path :
       elf::places_of_copies(roots_, debug_roots_, {std::string(hint.path)}, hint.build_id)) {
    if (auto copy = open_at(path, hint)) {
      return copy;
    }
  }
  return opened;
}

Result<identity::OpenedImage> RecordedImages::open_at(const std::string& path,
                                                      const identity::MappedFileHint& hint) const {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", path);
  }
  const auto lies_in = [&](const std::string& root) { return lies_below(real, root); };
  if (std::ranges::none_of(roots_, lies_in) && std::ranges::none_of(debug_roots_, lies_in)) {
    return with_hint(
        fail(ErrorCode::kDenied, "{} is outside the folders whose binaries may be read", real.string()),
        "give its folder with --symbol-root");
  }
  auto opened = identity::open_regular_file(real.string());
  if (!opened) {
    return propagate(opened);
  }
  const auto fd = std::make_shared<const UniqueFd>(std::move(*opened));
  const auto facts = facts_of(*fd, real.string());
  auto image = elf::LoadedImage::from_file(elf::read_at_of(fd, real.string()));
  if (!facts || !image) {
    return !facts ? propagate(facts) : propagate(image, "reading {}", real.string());
  }
  const bool is_recorded = is_recorded_file(*facts, hint, recorded_ns_);
  const bool is_same = !hint.build_id.empty() ? elf::is_build(image->build_id(), hint.build_id)
                       : hint.is_without_build_id
                           ? image->build_id().empty() && (hint.file.inode == 0 || is_recorded)
                           : is_recorded;
  if (!is_same) {
    if (path == hint.path && hint.file.inode != 0 && replaced_.size() < kMaxReplaced) {
      replaced_.insert(path);
    }
    return fail(ErrorCode::kNotFound, "{} has changed since the recording", real.string());
  }
  return identity::OpenedImage{std::move(*image), fd, real.string()};
}

}  // namespace plimsoll::perf_data
