#include "cli/pack_sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "formats/decompress.h"
#include "formats/tar_reader.h"
#include "formats/tar_writer.h"
#include "symbolizer/repository/source_archive.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxSourceBytes = uint64_t{16} << 20;  // as `plimsoll annotate` reads
constexpr uint64_t kMaxPackedBytes = uint64_t{4} << 30;
constexpr int kMaxSourceDepth = 64;

// Of languages whose compilers write DWARF.
constexpr std::array<std::string_view, 39> kSourceEndings{
    ".S", ".adb", ".ads", ".asm", ".c",   ".c++", ".cc",  ".cpp", ".cu",  ".cuh", ".cxx",   ".d",   ".def",
    ".f", ".f90", ".go",  ".h",   ".h++", ".hh",  ".hpp", ".hs",  ".hxx", ".inc", ".inl",   ".ipp", ".kt",
    ".l", ".m",   ".ml",  ".mm",  ".nim", ".pas", ".rs",  ".s",   ".tcc", ".tpp", ".swift", ".y",   ".zig"};

bool is_source(const fs::path& path) {
  return std::ranges::find(kSourceEndings, path.extension().string()) != kSourceEndings.end();
}

class PackedFile {
 public:
  static Result<PackedFile> create() {
    std::error_code error;
    const fs::path folder = fs::temp_directory_path(error);
    auto fd = unnamed_file(error ? "/tmp" : folder.string());
    return fd ? Result<PackedFile>(PackedFile(*std::move(fd))) : propagate(fd, "packing sources");
  }

  Status write(std::string_view bytes) {
    if (bytes.size() > kMaxPackedBytes - size_bytes_) {
      return fail(ErrorCode::kTooLarge, "the sources have more than {} bytes together", kMaxPackedBytes);
    }
    size_bytes_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        return fail_errno(errno, "packing sources");
      }
      bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
    return {};
  }

  PackedSources finish(std::string name) && { return {std::move(name), std::move(fd_), size_bytes_}; }

 private:
  explicit PackedFile(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  uint64_t size_bytes_ = 0;
};

// Sorted, so that the same folder gives the same archive.
Result<std::vector<fs::path>> sources_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    const auto type = entry->symlink_status(gone).type();
    const bool is_hidden = entry->path().filename().string().starts_with('.');
    if (type == fs::file_type::directory && (is_hidden || entry.depth() >= kMaxSourceDepth)) {
      entry.disable_recursion_pending();
    } else if (type == fs::file_type::regular && is_source(entry->path())) {
      paths.push_back(entry->path());
    }
    if (paths.size() > symbolizer::kMaxSourceFiles) {
      return fail(ErrorCode::kTooLarge, "{} has more than {} source files", folder.string(),
                  symbolizer::kMaxSourceFiles);
    }
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", folder.string());
  }
  std::ranges::sort(paths);
  return paths;
}

Status pack_file(const fs::path& path, const std::string& name, PackedFile& packed) {
  const auto content = read_file(path.string(), kMaxSourceBytes);
  const auto head =
      content ? formats::tar_head(name, content->size()) : Result<std::string>(propagate(content));
  if (!head) {
    return propagate(head);
  }
  Status written = packed.write(*head);
  written = written ? packed.write(*content) : written;
  const size_t over = content->size() % formats::kTarBlockBytes;
  return written && over > 0 ? packed.write(std::string(formats::kTarBlockBytes - over, '\0')) : written;
}

Result<PackedSources> pack_folder(const fs::path& folder, const std::string& prefix) {
  const auto paths = sources_below(folder);
  auto packed = paths ? PackedFile::create() : Result<PackedFile>(propagate(paths));
  if (!packed) {
    return propagate(packed);
  }
  if (paths->empty()) {
    return fail(ErrorCode::kNotFound, "{} has no source files", folder.string());
  }
  for (const fs::path& path : *paths) {
    const std::string known_as = prefix + "/" + path.lexically_relative(folder).string();
    const auto name = symbolizer::source_key(known_as);
    const Status added = name ? pack_file(path, *name, *packed)
                              : fail(ErrorCode::kTooLarge, "the path {} is too long", known_as);
    if (!added) {
      return propagate(added, "packing {}", path.string());
    }
  }
  const Status ended = packed->write(formats::tar_end());
  return ended ? Result<PackedSources>(std::move(*packed).finish(folder.string())) : propagate(ended);
}

// An archive that is there already.
Result<PackedSources> open_archive(const std::string& path) {
  auto map = MappedFile::open(path, kMaxPackedBytes);
  auto packed = map ? PackedFile::create() : Result<PackedFile>(propagate(map));
  if (!packed) {
    return propagate(packed);
  }
  const Bytes bytes = map->bytes();
  formats::DecompressionStream stream(
      formats::compression_of(bytes.first(std::min(bytes.size(), formats::kCompressionMagicBytes))),
      formats::pull_from(bytes), kMaxPackedBytes);
  while (true) {
    const auto piece = stream.next();
    const Status written = piece ? packed->write(as_text(*piece)) : propagate(piece, "reading {}", path);
    if (!written) {
      return propagate(written);
    }
    if (piece->empty()) {
      return std::move(*packed).finish(path);
    }
  }
}

}  // namespace

Result<PackedSources> pack_sources(const std::string& place) {
  constexpr std::string_view kIs = " = ";
  const size_t equals = place.find(kIs);
  const std::string prefix = equals == std::string::npos ? std::string() : place.substr(0, equals);
  const std::string path = equals == std::string::npos ? place : place.substr(equals + kIs.size());
  std::error_code error;
  if (equals != std::string::npos && (!prefix.starts_with('/') || !fs::is_directory(path, error))) {
    return with_hint(fail(ErrorCode::kInvalid, "\"{}\" does not name a folder of sources", place),
                     "write the folder that the compiler knew and the one where its files are now "
                     "(/build/dir = ./src)");
  }
  if (!fs::is_directory(path, error)) {
    return open_archive(path);
  }
  fs::path folder = fs::absolute(path, error).lexically_normal();
  folder = folder.has_filename() ? folder : folder.parent_path();
  return pack_folder(folder, equals == std::string::npos ? folder.string() : prefix);
}

}  // namespace plimsoll::cli
