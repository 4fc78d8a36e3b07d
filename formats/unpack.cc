#include "formats/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/time.h"
#include "formats/decompress.h"
#include "formats/tar_reader.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kReadBytes = size_t{128} << 10;

// Reads on from where the descriptor stands.
PullBytes pull_from(std::shared_ptr<const UniqueFd> fd, std::string name) {
  return [fd = std::move(fd), name = std::move(name),
          piece = std::string(kReadBytes, '\0')]() mutable -> Result<Bytes> {
    while (true) {
      const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
      if (got >= 0) {
        return as_bytes(piece).first(static_cast<size_t>(got));
      }
      if (errno != EINTR) {
        return fail_errno(errno, "reading {}", name);
      }
    }
  };
}

// A source whose first bytes can be looked at before they are pulled.
class PeekedSource {
 public:
  explicit PeekedSource(PullBytes source) : source_(std::move(source)) {}

  Result<Bytes> peek(size_t size_bytes) {
    while (beginning_.size() < size_bytes) {
      const auto piece = source_();
      if (!piece) {
        return propagate(piece);
      }
      if (piece->empty()) {
        break;
      }
      beginning_ += as_text(*piece);
    }
    return as_bytes(beginning_);
  }

  Result<Bytes> pull() {
    if (!beginning_.empty()) {
      handed_out_ = std::exchange(beginning_, {});
      return as_bytes(handed_out_);
    }
    return source_();
  }

 private:
  const PullBytes source_;
  std::string beginning_;
  std::string handed_out_;
};

Status write_all(const UniqueFd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return fail_errno(errno, "writing to a temporary file");
    }
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

// Whether compressed content is an archive, or is compressed again.
Status check_inner(Bytes beginning, bool may_be_compressed) {
  if (looks_like_tar(beginning)) {
    return with_hint(fail(ErrorCode::kUnsupported, "it is an archive within an archive"),
                     "unpack the outer archive first");
  }
  if (!may_be_compressed && compression_of(beginning) != Compression::kNone) {
    return with_hint(fail(ErrorCode::kCorrupt, "its content is compressed twice, the second time by {}",
                          compression_name(compression_of(beginning))),
                     "decompress it once");
  }
  return {};
}

class Unpacker {
 public:
  Unpacker(const UnpackLimits& limits, const TakeInput& take) : limits_(limits), take_(take) {}

  void unpack(const std::string& path) {
    auto file = open(path);
    if (!file) {
      take_(path, propagate(file));
      return;
    }
    if (auto done = unpack_file(std::move(*file)); !done) {
      take_(path, propagate(done));
    }
  }

 private:
  void hand_on(InputFile input) const {
    const std::string name = input.name;
    take_(name, std::move(input));
  }

  Result<InputFile> open(const std::string& path) const {
    InputFile file{path, path, std::make_shared<const UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC))};
    struct stat info{};
    if (!file.fd->valid() || ::fstat(file.fd->get(), &info) != 0) {
      return fail_errno(errno, "opening {}", path);
    }
    if (S_ISDIR(info.st_mode)) {
      return fail_errno(EISDIR, "opening {}", path);
    }
    if (!S_ISREG(info.st_mode)) {
      return spool({path, path}, pull_from(file.fd, path), limits_.max_content_bytes);
    }
    file.size_bytes = static_cast<uint64_t>(info.st_size);
    if (__builtin_mul_overflow(info.st_mtim.tv_sec, kNsPerSecond, &file.modified_ns)) {
      file.modified_ns = 0;
    }
    return file;
  }

  Status unpack_file(InputFile file) const {
    const auto beginning = beginning_of(file);
    if (!beginning) {
      return propagate(beginning);
    }
    const Compression compression = compression_of(as_bytes(*beginning));
    if (compression == Compression::kNone && !looks_like_tar(as_bytes(*beginning))) {
      hand_on(std::move(file));
      return {};
    }
    DecompressionStream stream(compression, pull_from(file.fd, file.name),
                               max_content_bytes(compression, file));
    PeekedSource content([&stream] { return stream.next(); });
    const auto inner = content.peek(kTarBlockBytes);
    if (!inner) {
      return propagate(inner);
    }
    if (looks_like_tar(*inner)) {
      return unpack_archive(file.name, [&content] { return content.pull(); });
    }
    if (auto checked = check_inner(*inner, false); !checked) {
      return checked;
    }
    auto unpacked = spool(
        {file.name, file.file_name, {}, 0, file.modified_ns}, [&content] { return content.pull(); },
        UINT64_MAX);
    if (!unpacked) {
      return propagate(unpacked);
    }
    file = {};  // closes what is not needed any more
    hand_on(std::move(*unpacked));
    return {};
  }

  uint64_t max_content_bytes(Compression compression, const InputFile& file) const {
    return compression == Compression::kNone
               ? UINT64_MAX
               : max_decompressed_bytes(file.size_bytes, limits_.max_content_bytes);
  }

  Status unpack_archive(const std::string& archive, PullBytes source) const {
    TarReader reader(std::move(source));
    for (uint64_t members = 0;; ++members) {
      const auto next = reader.next();
      if (!next) {
        return propagate(next);
      }
      const std::optional<TarReader::Member>& member = *next;
      if (!member) {
        return members > 0 ? Status() : fail(ErrorCode::kNotFound, "the archive holds no regular file");
      }
      if (members == limits_.max_members) {
        return fail(ErrorCode::kTooLarge, "the archive holds more than the {} files permitted", members);
      }
      const std::string name = archive + ":" + member->name;
      auto input = unpack_member(name, *member, reader);
      if (!input) {
        take_(name, propagate(input));
        continue;
      }
      hand_on(std::move(*input));
    }
  }

  Result<InputFile> unpack_member(const std::string& name, const TarReader::Member& member,
                                  TarReader& reader) const {
    if (member.is_sparse) {
      return with_hint(fail(ErrorCode::kUnsupported, "the archive holds it as a sparse file"),
                       "make the archive without --sparse");
    }
    PeekedSource content([&reader] { return reader.read(); });
    const auto beginning = content.peek(kTarBlockBytes);
    if (!beginning) {
      return propagate(beginning);
    }
    if (auto checked = check_inner(*beginning, true); !checked) {
      return propagate(checked);
    }
    const Compression compression = compression_of(*beginning);
    DecompressionStream stream(
        compression, [&content] { return content.pull(); },
        max_content_bytes(compression, {.size_bytes = member.size_bytes}));
    PeekedSource plain([&stream] { return stream.next(); });
    const auto inner = plain.peek(kTarBlockBytes);
    if (!inner) {
      return propagate(inner);
    }
    if (auto checked = check_inner(*inner, false); !checked) {
      return propagate(checked);
    }
    return spool(
        {name, member.name, {}, 0, member.modified_ns}, [&plain] { return plain.pull(); }, UINT64_MAX);
  }

  // Writes the content to a file without a name. Where a disk is full, that is the error.
  Result<InputFile> spool(InputFile described, const PullBytes& source, uint64_t max_bytes) const {
    std::error_code error;
    const std::string folder =
        limits_.folder.empty() ? std::filesystem::temp_directory_path(error).string() : limits_.folder;
    auto fd = unnamed_file(folder.empty() ? "/tmp" : folder);
    if (!fd) {
      return propagate(fd, "unpacking {}", described.name);
    }
    while (true) {
      const auto piece = source();
      if (!piece) {
        return propagate(piece);
      }
      if (piece->empty()) {
        break;
      }
      described.size_bytes += piece->size();
      if (described.size_bytes > max_bytes) {
        return fail(ErrorCode::kTooLarge, "it is larger than the {} bytes permitted", max_bytes);
      }
      if (auto written = write_all(*fd, as_text(*piece)); !written) {
        return propagate(written, "unpacking {} into {}", described.name, folder);
      }
    }
    // Of a pipe, which is read like a file after this.
    if (::lseek(fd->get(), 0, SEEK_SET) != 0) {
      return fail_errno(errno, "unpacking {}", described.name);
    }
    described.fd = std::make_shared<const UniqueFd>(std::move(*fd));
    return described;
  }

  static Result<std::string> beginning_of(const InputFile& file) {
    return read_at(*file.fd, file.name, 0, std::min<uint64_t>(file.size_bytes, kTarBlockBytes));
  }

  const UnpackLimits& limits_;
  const TakeInput& take_;
};

}  // namespace

void unpack(const std::string& path, const UnpackLimits& limits, const TakeInput& take) {
  Unpacker(limits, take).unpack(path);
}

}  // namespace plimsoll::formats
