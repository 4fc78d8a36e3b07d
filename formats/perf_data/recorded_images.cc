#include "formats/perf_data/recorded_images.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "daemon/identity/safe_open.h"
#include "elf/build_id.h"

namespace plimsoll::perf_data {
namespace {

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

Result<identity::FileId> file_id(const UniqueFd& fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    return fail_errno(errno, "asking about {}", path);
  }
  return identity::FileId{major(info.st_dev), minor(info.st_dev), info.st_ino};
}

}  // namespace

RecordedImages::RecordedImages(const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    std::error_code error;
    const auto real = std::filesystem::canonical(root, error);
    if (!error) {
      roots_.push_back(real.string());
    }
  }
}

Result<identity::OpenedImage> RecordedImages::open(const identity::MappedFileHint& hint) const {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(std::string(hint.path), error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", hint.path);
  }
  if (std::ranges::none_of(roots_, [&](const std::string& root) { return lies_below(real, root); })) {
    return with_hint(
        fail(ErrorCode::kDenied, "{} lies outside the folders whose binaries may be read", real.string()),
        "name its folder with --symbol-root");
  }
  auto opened = identity::open_regular_file(real.string());
  if (!opened) {
    return propagate(opened);
  }
  const auto fd = std::make_shared<const UniqueFd>(std::move(*opened));
  const auto id = file_id(*fd, real.string());
  auto image = elf::LoadedImage::from_file(elf::read_at_of(fd, real.string()));
  if (!id || !image) {
    return !id ? propagate(id) : propagate(image, "reading {}", real.string());
  }
  const bool is_same = !hint.build_id.empty() ? elf::is_build(image->build_id(), hint.build_id)
                       : hint.is_without_build_id
                           ? image->build_id().empty() && (hint.file.inode == 0 || *id == hint.file)
                           : hint.file.inode != 0 && *id == hint.file;
  if (!is_same) {
    return fail(ErrorCode::kNotFound, "{} is another file than the recorded one", real.string());
  }
  return identity::OpenedImage{std::move(*image), fd, real.string()};
}

}  // namespace plimsoll::perf_data
