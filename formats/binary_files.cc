#include "formats/binary_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "formats/decompress.h"
#include "formats/tar_reader.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kElfMagic = "\177ELF";
constexpr std::string_view kArMagic = "!<arch>\n";
constexpr size_t kArHeaderBytes = 60;
constexpr size_t kArNameBytes = 16;
constexpr size_t kArSizeAt = 48;
constexpr size_t kArSizeBytes = 10;
constexpr std::string_view kArHeaderEnd = "`\n";
// A package has three members: its version, its control files, its content.
constexpr int kMaxArMembers = 16;
constexpr size_t kPieceBytes = size_t{128} << 10;

std::string_view without_spaces(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// A part of an open file.
struct FileRange {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

PullBytes pull_range(std::shared_ptr<const UniqueFd> fd, std::string name, FileRange range) {
  return
      [fd = std::move(fd), name = std::move(name), range, piece = std::string()]() mutable -> Result<Bytes> {
        const uint64_t wanted = std::min<uint64_t>(range.size_bytes, kPieceBytes);
        auto read = read_at(*fd, name, range.offset, wanted);
        if (!read) {
          return propagate(read);
        }
        piece = *std::move(read);
        range.offset += wanted;
        range.size_bytes -= wanted;
        return as_bytes(piece);
      };
}

Status write_piece(const UniqueFd& fd, Bytes bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return fail_errno(errno, "unpacking {}", name);
    }
    bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

class BinaryFinder {
 public:
  BinaryFinder(const BinaryFileLimits& limits, const TakeBinary& take) : limits_(limits), take_(take) {}

  void find(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      find_in_folder(path);
      return;
    }
    const auto is_known = find_in_file(path);
    if (!is_known) {
      take_(path, propagate(is_known));
    } else if (!*is_known) {
      take_(path,
            with_hint(fail(ErrorCode::kUnsupported, "{} is neither an ELF file nor a Debian package", path),
                      "give binaries, debug files, .deb packages, or folders of them"));
    }
  }

 private:
  void find_in_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::recursive_directory_iterator entry(
        folder, std::filesystem::directory_options::skip_permission_denied, error);
    uint64_t files = 0;
    while (!error && entry != std::filesystem::recursive_directory_iterator()) {
      std::error_code gone;
      const auto type = entry->symlink_status(gone).type();
      if (entry.depth() >= limits_.max_depth && type == std::filesystem::file_type::directory) {
        entry.disable_recursion_pending();
        take_(entry->path().string(), fail(ErrorCode::kTooLarge, "{} lies more than {} folders deep",
                                           entry->path().string(), limits_.max_depth));
      }
      if (type == std::filesystem::file_type::regular) {
        if (++files > limits_.max_files) {
          take_(folder, fail(ErrorCode::kTooLarge, "{} has more than {} files", folder, limits_.max_files));
          return;
        }
        const std::string path = entry->path().string();
        if (const auto is_known = find_in_file(path); !is_known) {
          take_(path, propagate(is_known));
        }
      }
      entry.increment(error);
    }
    if (error) {
      take_(folder, fail_errno(error.value(), "listing {}", folder));
    }
  }

  // False: it is neither an ELF file nor a package.
  Result<bool> find_in_file(const std::string& path) {
    auto fd = std::make_shared<const UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info{};
    if (!fd->valid() || ::fstat(fd->get(), &info) != 0) {
      return fail_errno(errno, "opening {}", path);
    }
    if (!S_ISREG(info.st_mode)) {
      return fail(ErrorCode::kInvalid, "{} is not a regular file", path);
    }
    const auto size_bytes = static_cast<uint64_t>(info.st_size);
    const auto beginning = read_at(*fd, path, 0, std::min<uint64_t>(size_bytes, kArMagic.size()));
    if (!beginning) {
      return propagate(beginning);
    }
    if (*beginning == kArMagic) {
      return find_in_package(path, fd, size_bytes);
    }
    if (!beginning->starts_with(kElfMagic)) {
      return false;
    }
    if (size_bytes > limits_.max_file_bytes) {
      return too_large_binary(path);
    }
    take_(path, BinaryFile{.name = path, .fd = std::move(fd), .size_bytes = size_bytes});
    return true;
  }

  std::unexpected<Error> too_large_binary(const std::string& name) const {
    return fail(ErrorCode::kTooLarge, "{} is larger than the {} bytes permitted", name,
                limits_.max_file_bytes);
  }

  // False: it is another ar archive, such as a static library.
  Result<bool> find_in_package(const std::string& path, const std::shared_ptr<const UniqueFd>& fd,
                               uint64_t size_bytes) {
    const auto data = find_data_member(path, *fd, size_bytes);
    if (!data) {
      return propagate(data);
    }
    const std::optional<FileRange>& found = *data;
    if (!found) {
      return false;
    }
    const FileRange range = *found;
    const auto magic =
        read_at(*fd, path, range.offset, std::min<uint64_t>(range.size_bytes, kCompressionMagicBytes));
    if (!magic) {
      return propagate(magic);
    }
    const Compression compression = compression_of(as_bytes(*magic));
    DecompressionStream stream(compression, pull_range(fd, path, range),
                               compression == Compression::kNone
                                   ? limits_.max_content_bytes
                                   : max_decompressed_bytes(range.size_bytes, limits_.max_content_bytes));
    TarReader reader([&stream] { return stream.next(); });
    const Status read = find_in_archive(path, reader);
    return read ? Result<bool>(true) : propagate(read, "reading {}", path);
  }

  // Where data.tar lies. Nothing where the first member is not debian-binary.
  static Result<std::optional<FileRange>> find_data_member(const std::string& path, const UniqueFd& fd,
                                                           uint64_t size_bytes) {
    uint64_t offset = kArMagic.size();
    for (int members = 0; members < kMaxArMembers && size_bytes - offset >= kArHeaderBytes; ++members) {
      const auto header = read_at(fd, path, offset, kArHeaderBytes);
      if (!header) {
        return propagate(header);
      }
      const std::string_view text(*header);
      const std::string_view size_text = without_spaces(text.substr(kArSizeAt, kArSizeBytes));
      uint64_t bytes = 0;
      const auto [end, error] = std::from_chars(size_text.data(), size_text.data() + size_text.size(), bytes);
      offset += kArHeaderBytes;
      if (!text.ends_with(kArHeaderEnd) || error != std::errc() ||
          end != size_text.data() + size_text.size() || bytes > size_bytes - offset) {
        return fail(ErrorCode::kCorrupt, "{} is a damaged or incomplete ar archive", path);
      }
      std::string_view name = without_spaces(text.substr(0, kArNameBytes));
      name = name.substr(0, name.find('/'));
      if (members == 0 && name != "debian-binary") {
        return std::nullopt;
      }
      if (name == "data.tar" || name.starts_with("data.tar.")) {
        return FileRange{offset, bytes};
      }
      offset = std::min(offset + bytes + bytes % 2, size_bytes);
    }
    return fail(ErrorCode::kCorrupt, "{} is a package without data.tar", path);
  }

  Status find_in_archive(const std::string& package, TarReader& reader) {
    for (uint64_t members = 0;; ++members) {
      const auto next = reader.next();
      if (!next) {
        return propagate(next);
      }
      const std::optional<TarReader::Member>& found = *next;
      if (!found) {
        return {};
      }
      if (members == limits_.max_members) {
        return fail(ErrorCode::kTooLarge, "it holds more than the {} files permitted", members);
      }
      const TarReader::Member& member = *found;
      if (member.is_sparse) {
        continue;
      }
      const std::string name = fmt::format("{}:{}", package, member.name);
      auto unpacked = unpack_binary(name, member, reader);
      if (!unpacked) {
        take_(name, propagate(unpacked));
        continue;
      }
      if (auto binary = *std::move(unpacked)) {
        take_(name, *std::move(binary));
      }
    }
  }

  // Nothing where it is no ELF file.
  Result<std::optional<BinaryFile>> unpack_binary(const std::string& name, const TarReader::Member& member,
                                                  TarReader& reader) const {
    std::string beginning;
    while (beginning.size() < kElfMagic.size()) {
      const auto piece = reader.read();
      if (!piece) {
        return propagate(piece);
      }
      if (piece->empty()) {
        return std::nullopt;
      }
      beginning += as_text(*piece);
    }
    if (!beginning.starts_with(kElfMagic)) {
      return std::nullopt;
    }
    if (member.size_bytes > limits_.max_file_bytes) {
      return too_large_binary(name);
    }
    std::error_code error;
    const std::string folder =
        limits_.folder.empty() ? std::filesystem::temp_directory_path(error).string() : limits_.folder;
    auto fd = unnamed_file(folder.empty() ? "/tmp" : folder);
    if (!fd) {
      return propagate(fd, "unpacking {}", name);
    }
    BinaryFile file{.name = name, .size_bytes = beginning.size()};
    Status written = write_piece(*fd, as_bytes(beginning), name);
    while (written) {
      const auto piece = reader.read();
      if (!piece) {
        return propagate(piece);
      }
      if (piece->empty()) {
        break;
      }
      file.size_bytes += piece->size();
      written = write_piece(*fd, *piece, name);
    }
    if (!written) {
      return propagate(written);
    }
    file.fd = std::make_shared<const UniqueFd>(std::move(*fd));
    return std::optional<BinaryFile>(std::move(file));
  }

  const BinaryFileLimits& limits_;
  const TakeBinary& take_;
};

}  // namespace

void find_binaries(const std::string& path, const BinaryFileLimits& limits, const TakeBinary& take) {
  BinaryFinder(limits, take).find(path);
}

}  // namespace plimsoll::formats
