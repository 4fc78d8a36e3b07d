#include "query/annotate/source_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/unique_fd.h"
#include "symbolizer/repository/source_archive.h"

namespace plimsoll::annotate {
namespace {

using symbolizer::source_key;

constexpr uint64_t kMaxFileBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxAllBytes = uint64_t{64} << 20;
constexpr size_t kMaxFiles = 256;
constexpr size_t kMaxLineBytes = 400;

// What follows a folder's path, both without '/' at the beginning.
std::optional<std::string> behind(std::string_view folder, std::string_view path) {
  if (folder.empty() || !path.starts_with(folder) || path.size() <= folder.size() + 1 ||
      path[folder.size()] != '/') {
    return std::nullopt;
  }
  return std::string(path.substr(folder.size() + 1));
}

std::string without_end(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return std::string(path);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

// For kernels before 5.6, and where a sandbox does not know the call: one folder after the other, none of them a link. The path has
// neither ".." nor an empty part.
UniqueFd walk_to(const UniqueFd& folder, std::string_view path) {
  UniqueFd at(::openat(folder.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at.valid() && !path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string part(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (path.empty() ? 0 : O_DIRECTORY);
    at = UniqueFd(::openat(at.get(), part.c_str(), flags));
  }
  return at;
}

// O_PATH: nothing is opened yet that would do something when it is opened.
UniqueFd find_below(const UniqueFd& folder, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
    return walk_to(folder, path);
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<std::string> read_below(const SourceRoot& root, const std::string& path) {
  const UniqueFd folder(::open(root.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return fail_errno(errno, "opening the source root {}", root.folder);
  }
  const UniqueFd found = find_below(folder, path);
  if (!found.valid()) {
    return fail(ErrorCode::kNotFound, "{} has no file {}", root.folder, path);
  }
  struct stat info{};
  if (::fstat(found.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kInvalid, "{} in {} is no regular file", path, root.folder);
  }
  if (static_cast<uint64_t>(info.st_size) > kMaxFileBytes) {
    return fail(ErrorCode::kTooLarge, "{} in {} has more than {} bytes", path, root.folder, kMaxFileBytes);
  }
  // The very file that was looked at.
  return read_file(fmt::format("/proc/self/fd/{}", found.get()), kMaxFileBytes);
}

using NeededLines = std::vector<std::set<uint32_t>>;  // by file

NeededLines needed_lines(const Annotation& annotation) {
  NeededLines needed(annotation.files.size());
  for (const Chain& chain : annotation.chains) {
    for (const Place& place : chain) {
      if (place.file != 0 && place.line != 0) {
        needed[place.file].insert(place.line);
      }
    }
  }
  return needed;
}

void take_lines(std::string_view text, const std::set<uint32_t>& needed, SourceFile& file) {
  file.has_text = true;
  uint32_t number = 1;
  auto next = needed.begin();
  for (size_t at = 0; at < text.size() && next != needed.end(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (number == *next) {
      std::string line(text.substr(at, std::min(end - at, kMaxLineBytes)));
      std::erase(line, '\r');
      std::ranges::replace(line, '\t', ' ');
      file.lines.emplace(number, std::move(line));
      ++next;
    }
    at = end + 1;
  }
}

// What was uploaded for the build, while it is open.
class UploadedSources {
 public:
  explicit UploadedSources(const std::string& path) {
    auto map = path.empty() ? fail(ErrorCode::kNotFound, "none")
                            : MappedFile::open(path, std::numeric_limits<uint64_t>::max());
    auto archive = map ? symbolizer::SourceArchive::parse(map->bytes())
                       : Result<symbolizer::SourceArchive>(propagate(map));
    if (archive) {
      map_ = *std::move(map);
      archive_ = *std::move(archive);
    } else if (archive.error().code != ErrorCode::kNotFound) {
      damage_ = archive.error().text();
    }
  }

  bool are_there() const { return archive_.has_value(); }
  const std::string& damage() const { return damage_; }  // empty: none

  std::optional<std::string> find(std::string_view path) const {
    const auto content = archive_ ? archive_->find(path) : std::nullopt;
    return content && content->size() <= kMaxFileBytes ? std::optional(std::string(as_text(*content)))
                                                       : std::nullopt;
  }

 private:
  std::optional<MappedFile> map_;
  std::optional<symbolizer::SourceArchive> archive_;  // borrows the map
  std::string damage_;
};

std::optional<std::string> text_of(const std::string& path, const UploadedSources& uploaded,
                                   const SourcePlaces& places) {
  if (auto found = uploaded.find(path)) {
    return found;
  }
  if (auto text = read_source(places.roots, path)) {
    return *std::move(text);
  }
  auto fetched = places.fetch ? places.fetch(path) : std::nullopt;
  return fetched && fetched->size() <= kMaxFileBytes ? std::move(fetched) : std::nullopt;
}

std::string text_of_missing(std::vector<std::string_view> paths) {
  constexpr size_t kShownPaths = 3;
  const size_t all = paths.size();
  paths.resize(std::min(all, kShownPaths));
  return fmt::format(
      "the lines of {} {} are without source text: no source root, source server or upload for the build "
      "has a file of at most {} MiB that can be read as {}{}",
      all, all == 1 ? "file" : "files", kMaxFileBytes >> 20U, fmt::join(paths, ", "),
      all > paths.size() ? fmt::format(" and {} more", all - paths.size()) : "");
}

}  // namespace

Result<SourceRoot> parse_source_root(std::string_view text) {
  const size_t equals = text.find(" = ");
  const std::string_view prefix =
      equals == std::string_view::npos ? std::string_view() : trimmed(text.substr(0, equals));
  const std::string_view folder = trimmed(equals == std::string_view::npos ? text : text.substr(equals + 3));
  const bool has_sound_prefix = equals == std::string_view::npos || prefix.starts_with('/');
  if (!folder.starts_with('/') || !has_sound_prefix || text.find('\0') != std::string_view::npos) {
    return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not a source root", text),
                     "write an absolute folder (/srv/src), or the folder that the compiler knew and the one "
                     "where its files are now (/build/dir = /srv/src)");
  }
  return SourceRoot{without_end(prefix), without_end(folder)};
}

Result<std::vector<SourceRoot>> parse_source_roots(const std::vector<std::string>& texts) {
  std::vector<SourceRoot> roots;
  for (const std::string& text : texts) {
    auto root = parse_source_root(text);
    if (!root) {
      return propagate(root);
    }
    roots.push_back(std::move(*root));
  }
  return roots;
}

std::optional<std::string> path_below(const SourceRoot& root, std::string_view path) {
  const auto whole = source_key(path);
  if (!whole) {
    return std::nullopt;
  }
  if (!path.starts_with('/')) {
    // A path that does not say where it begins lies in no folder of the compiler's.
    return root.prefix.empty() ? whole : std::nullopt;
  }
  if (!root.prefix.empty()) {
    // "/ = /srv/src": all absolute paths.
    const auto prefix = source_key(root.prefix);
    return root.prefix == "/" ? whole : prefix ? behind(*prefix, *whole) : std::nullopt;
  }
  const auto folder = source_key(root.folder);
  auto own = folder ? behind(*folder, *whole) : std::nullopt;
  return own ? own : whole;
}

Result<std::string> read_source(const std::vector<SourceRoot>& roots, std::string_view path) {
  for (const SourceRoot& root : roots) {
    const auto below = path_below(root, path);
    if (!below) {
      continue;
    }
    if (auto text = read_below(root, *below)) {
      return text;
    }
  }
  return fail(ErrorCode::kNotFound, "no source root has the file");
}

void read_sources(const SourcePlaces& places, Annotation& annotation) {
  const UploadedSources uploaded(places.archive);
  const bool has_places = uploaded.are_there() || !places.roots.empty() || places.fetch;
  const NeededLines needed = needed_lines(annotation);
  size_t files = 0;
  uint64_t bytes = 0;
  std::vector<std::string_view> without;
  size_t over_limit = 0;
  for (size_t i = 1; i < annotation.files.size(); ++i) {
    if (needed[i].empty()) {
      continue;
    }
    if (has_places && (++files > kMaxFiles || bytes >= kMaxAllBytes)) {
      ++over_limit;
      continue;
    }
    const auto text = text_of(annotation.files[i].path, uploaded, places);
    if (!text) {
      without.push_back(annotation.files[i].path);
      continue;
    }
    bytes += text->size();
    take_lines(*text, needed[i], annotation.files[i]);
  }
  if (!without.empty()) {
    annotation.notes.push_back(
        has_places
            ? text_of_missing(without)
            : "lines are without source text: no source roots are given (sources.roots or sources.urls "
              "of a server, --source-root on the command line), and no sources were uploaded "
              "(plimsoll binaries add FILE --sources DIR)");
  }
  if (!uploaded.damage().empty()) {
    annotation.notes.push_back("the sources that were uploaded cannot be read: " + uploaded.damage());
  }
  if (over_limit > 0) {
    annotation.notes.push_back(fmt::format(
        "the lines of {} more files are without source text: at most {} files and {} MiB are read",
        over_limit, kMaxFiles, kMaxAllBytes >> 20U));
  }
}

}  // namespace plimsoll::annotate
