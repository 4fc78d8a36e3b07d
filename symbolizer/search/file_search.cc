#include "symbolizer/search/file_search.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxBinaryBytes = uint64_t{8} << 30;
constexpr size_t kMaxReasons = 12;
constexpr size_t kMaxTried = 1000;

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [folder_end, unused] = std::ranges::mismatch(folder, path);
  return folder_end == folder.end();
}

bool is_permitted(const std::filesystem::path& real, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    std::error_code error;
    const std::filesystem::path real_folder = std::filesystem::canonical(folder, error);
    return !error && lies_below(real, real_folder);
  });
}

// The file that `path` really names, or an error where that lies outside the roots.
Result<std::string> resolve_within(const std::string& path, const SymbolRoots& roots) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", path);
  }
  if (is_permitted(real, roots.folders) || is_permitted(real, roots.debug_folders)) {
    return real.string();
  }
  return with_hint(fail(ErrorCode::kDenied, "{} is outside symbols.roots", real.string()),
                   "add its folder to symbols.roots");
}

// Another text for another file, or another content of it.
std::string state_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return "-";
  }
  return fmt::format("{}:{}:{}:{}.{:09}:{:o}", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec, info.st_mode);
}

std::string text_of(const SymbolRoots& roots) {
  return fmt::format("{} {}", fmt::join(roots.folders, ":"), fmt::join(roots.debug_folders, ":"));
}

bool is_one_line(const std::string& path) {
  return path.find_first_of(std::string_view("\n\0", 2)) == std::string::npos;
}

}  // namespace

Result<FoundFile> FileSearch::open(const std::string& path) {
  if (!is_one_line(path)) {
    return fail(ErrorCode::kInvalid, "paths with a line end or a zero byte are not searched");
  }
  // Before it is opened: a file that changes meanwhile then has another state than the one noted.
  note(path);
  const auto real_path = resolve_within(path, roots_);
  if (!real_path) {
    return propagate(real_path);
  }
  auto mapped = MappedFile::open(*real_path, kMaxBinaryBytes);
  if (!mapped) {
    return propagate(mapped);
  }
  if (opened_) {
    opened_(mapped->bytes().size());
  }
  auto file = elf::ElfFile::parse(mapped->bytes());
  if (!file) {
    return propagate(file, "reading {}", *real_path);
  }
  return FoundFile{*real_path, std::move(*mapped), std::move(*file)};
}

void FileSearch::note(const std::string& path) {
  if (tried_.size() < kMaxTried && is_one_line(path)) {
    tried_.push_back(fmt::format("{} {}", state_of(path), path));
  }
}

void FileSearch::add_reason(std::string reason) {
  if (reasons_.size() < kMaxReasons && std::ranges::find(reasons_, reason) == reasons_.end()) {
    reasons_.push_back(std::move(reason));
  }
}

std::string FileSearch::looked_at() const {
  return text_of(roots_) + fmt::format("\n{}", fmt::join(tried_, "\n"));
}

std::string FileSearch::reasons() const {
  return fmt::format("{}", fmt::join(reasons_, "; "));
}

bool FileSearch::has_changed(std::string_view looked_at, const SymbolRoots& roots) {
  const size_t roots_end = std::min(looked_at.find('\n'), looked_at.size());
  if (looked_at.substr(0, roots_end) != text_of(roots)) {
    return true;
  }
  looked_at.remove_prefix(roots_end);
  while (!looked_at.empty()) {
    looked_at.remove_prefix(1);
    const std::string_view line = looked_at.substr(0, looked_at.find('\n'));
    looked_at.remove_prefix(line.size());
    const size_t space = line.find(' ');
    if (space != std::string_view::npos &&
        state_of(std::string(line.substr(space + 1))) != line.substr(0, space)) {
      return true;
    }
  }
  return false;
}

bool FileSearch::has_tried(std::string_view looked_at, std::string_view path) {
  const std::string line_end = fmt::format(" {}\n", path);
  return looked_at.ends_with(std::string_view(line_end).substr(0, line_end.size() - 1)) ||
         looked_at.find(line_end) != std::string_view::npos;
}

}  // namespace plimsoll::symbolizer
