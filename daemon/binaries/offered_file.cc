#include "daemon/binaries/offered_file.h"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "capture/identity/safe_open.h"
#include "elf/hashes/htl_hash.h"
#include "elf/loaded_image.h"

namespace plimsoll::binaries {
namespace {

// Of zlib: with a window of 2^15 bytes, and 16 for a gzip header.
constexpr int kGzipWindowBits = 15 + 16;
// Machines run other things: most of the gain for a fraction of the time.
constexpr int kCompressionLevel = 1;
constexpr size_t kPieceBytes = 64UL << 10;

// The bytes of a layout, one after the other.
class LayoutReader {
 public:
  LayoutReader(std::shared_ptr<const UniqueFd> file, elf::PartLayout layout)
      : file_(std::move(file)), layout_(std::move(layout)) {}

  // How many bytes it has put into `room`; 0: that was all.
  Result<size_t> read(std::span<char> room) {
    while (piece_ < layout_.pieces.size() && read_bytes_ == bytes_of(layout_.pieces[piece_])) {
      ++piece_;
      read_bytes_ = 0;
    }
    if (piece_ == layout_.pieces.size()) {
      return size_t{0};
    }
    const elf::PartPiece& piece = layout_.pieces[piece_];
    const size_t bytes = std::min<uint64_t>(room.size(), bytes_of(piece) - read_bytes_);
    if (piece.file_bytes == 0) {
      piece.bytes.copy(room.data(), bytes, read_bytes_);
      read_bytes_ += bytes;
      return bytes;
    }
    const ssize_t got =
        ::pread(file_->get(), room.data(), bytes, static_cast<off_t>(piece.file_offset + read_bytes_));
    if (got < 0) {
      return errno == EINTR ? read(room) : fail_errno(errno, "reading a binary");
    }
    // The owner of the file may cut it while it is sent.
    if (got == 0) {
      return fail(ErrorCode::kCorrupt, "a binary has become shorter while it was sent");
    }
    read_bytes_ += static_cast<uint64_t>(got);
    return static_cast<size_t>(got);
  }

 private:
  static uint64_t bytes_of(const elf::PartPiece& piece) {
    return piece.file_bytes == 0 ? piece.bytes.size() : piece.file_bytes;
  }

  std::shared_ptr<const UniqueFd> file_;
  elf::PartLayout layout_;
  size_t piece_ = 0;
  uint64_t read_bytes_ = 0;  // of that piece
};

class GzipSource : public http::BodySource {
 public:
  explicit GzipSource(LayoutReader reader) : reader_(std::move(reader)) {}
  ~GzipSource() override {
    if (is_begun_) {
      deflateEnd(&stream_);
    }
  }

  Status begin() {
    is_begun_ = deflateInit2(&stream_, kCompressionLevel, Z_DEFLATED, kGzipWindowBits, MAX_MEM_LEVEL,
                             Z_DEFAULT_STRATEGY) == Z_OK;
    return is_begun_ ? Status() : fail(ErrorCode::kExhausted, "no memory to compress a binary");
  }

  Result<size_t> give(std::span<char> room) override {
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(room.size(), UINT_MAX));
    const uInt room_bytes = stream_.avail_out;
    while (stream_.avail_out == room_bytes && !is_finished_) {
      if (const Status read = fill(); !read) {
        return propagate(read);
      }
      const int done = deflate(&stream_, is_at_end_ ? Z_FINISH : Z_NO_FLUSH);
      is_finished_ = done == Z_STREAM_END;
      if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) {
        return fail(ErrorCode::kIo, "compressing a binary failed with {}", done);
      }
    }
    return room_bytes - stream_.avail_out;
  }

 private:
  Status fill() {
    if (stream_.avail_in > 0 || is_at_end_) {
      return {};
    }
    const auto bytes = reader_.read(piece_);
    if (!bytes) {
      return propagate(bytes);
    }
    is_at_end_ = *bytes == 0;
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(*bytes);
    return {};
  }

  LayoutReader reader_;
  z_stream stream_{};
  bool is_begun_ = false;
  bool is_at_end_ = false;
  bool is_finished_ = false;
  std::array<char, kPieceBytes> piece_{};
};

// What another source gives, behind what it has given already.
class RestSource : public http::BodySource {
 public:
  RestSource(std::vector<char> given, std::unique_ptr<http::BodySource> source)
      : given_(std::move(given)), source_(std::move(source)) {}

  Result<size_t> give(std::span<char> room) override {
    if (at_ == given_.size()) {
      return source_->give(room);
    }
    const size_t bytes = std::min(room.size(), given_.size() - at_);
    std::copy_n(given_.begin() + static_cast<std::ptrdiff_t>(at_), bytes, room.begin());
    at_ += bytes;
    return bytes;
  }

 private:
  const std::vector<char> given_;
  const std::unique_ptr<http::BodySource> source_;
  size_t at_ = 0;
};

// OpenTelemetry's name of the whole file, from both of its ends.
Result<std::string> htl_hash_of(const UniqueFd& file, uint64_t size_bytes) {
  const uint64_t end_bytes = std::min<uint64_t>(size_bytes, elf::kHtlHashedBytes);
  const auto first = read_at(file, "a binary", 0, end_bytes);
  const auto last = first ? read_at(file, "a binary", size_bytes - end_bytes, end_bytes) : propagate(first);
  return last ? elf::htl_hash(*first, *last, size_bytes) : Result<std::string>(propagate(last));
}

Result<std::string> real_path(const UniqueFd& file) {
  std::array<char, PATH_MAX> path{};
  const ssize_t bytes =
      ::readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(), path.data(), path.size());
  return bytes < 0 ? Result<std::string>(fail_errno(errno, "reading where a binary is"))
                   : std::string(path.data(), static_cast<size_t>(bytes));
}

}  // namespace

bool is_listed(const std::vector<std::string>& patterns, const std::string& path) {
  const bool is_plain = path.starts_with('/') && path.find("/../") == std::string::npos;
  return is_plain && std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
         });
}

Result<UniqueFd> open_offered(const std::vector<std::string>& patterns, const std::string& path,
                              std::string_view build_id, uint64_t max_bytes) {
  if (!is_listed(patterns, path)) {
    return fail(ErrorCode::kDenied, "binaries.paths does not list {}", path);
  }
  auto file = identity::open_regular_file(path);
  const auto real = file ? real_path(*file) : Result<std::string>(propagate(file));
  if (!real) {
    return propagate(real);
  }
  if (!is_listed(patterns, *real)) {
    return fail(ErrorCode::kDenied, "{} leads to {}, which binaries.paths does not list", path, *real);
  }
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) {
    return fail_errno(errno, "asking about {}", path);
  }
  if (static_cast<uint64_t>(info.st_size) > max_bytes) {
    return fail(ErrorCode::kTooLarge, "{} has {} bytes, over the limit of {}", path, info.st_size, max_bytes);
  }
  // Not mapped: the owner of the file may cut it, and reading the lost pages of a mapping ends the process.
  const auto shared = std::make_shared<UniqueFd>(*std::move(file));
  const auto image = elf::LoadedImage::from_file(elf::read_at_of(shared, path));
  if (!image) {
    return propagate(image, "reading {}", path);
  }
  if (image->build_id() != build_id) {
    return fail(ErrorCode::kConflict, "{} is not build {} any more", path, to_hex(build_id));
  }
  return std::move(*shared);  // reads by place have left its position at the start
}

Result<SentContent> content_of(const std::shared_ptr<const UniqueFd>& file, elf::BinaryPart part,
                               uint64_t max_bytes) {
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) {
    return fail_errno(errno, "asking about a binary");
  }
  const auto size_bytes = static_cast<uint64_t>(info.st_size);
  if (size_bytes > max_bytes) {
    return fail(ErrorCode::kTooLarge, "it has {} bytes, over the limit of {}", size_bytes, max_bytes);
  }
  const auto htl_hash = htl_hash_of(*file, size_bytes);
  auto layout = htl_hash ? elf::lay_out_part(elf::read_at_of(file, "a binary"), size_bytes, part, *htl_hash)
                         : Result<elf::PartLayout>(propagate(htl_hash));
  if (!layout) {
    return propagate(layout);
  }
  LayoutReader reader(file, *layout);
  ContentHasher hasher;
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const auto bytes = reader.read(piece);
    if (!bytes) {
      return propagate(bytes);
    }
    if (*bytes == 0) {
      return SentContent{.layout = *std::move(layout), .digest = hasher.hash()};
    }
    hasher.add(std::as_bytes(std::span(piece).first(*bytes)));
  }
}

Result<std::unique_ptr<http::BodySource>> gzip_source(std::shared_ptr<const UniqueFd> file,
                                                      elf::PartLayout layout) {
  auto source = std::make_unique<GzipSource>(LayoutReader(std::move(file), std::move(layout)));
  const Status begun = source->begin();
  return begun ? Result<std::unique_ptr<http::BodySource>>(std::move(source)) : propagate(begun);
}

Result<std::unique_ptr<http::BodySource>> without_beginning(std::unique_ptr<http::BodySource> source,
                                                            uint64_t bytes) {
  if (bytes == 0) {
    return source;
  }
  std::vector<char> room(kPieceBytes);
  while (true) {
    const auto given = source->give(room);
    if (!given) {
      return propagate(given);
    }
    if (*given == 0) {
      return fail(ErrorCode::kInvalid, "the server has as much of it as there is, or more");
    }
    if (*given > bytes) {
      std::vector<char> rest(room.begin() + static_cast<std::ptrdiff_t>(bytes),
                             room.begin() + static_cast<std::ptrdiff_t>(*given));
      return std::make_unique<RestSource>(std::move(rest), std::move(source));
    }
    bytes -= *given;
  }
}

}  // namespace plimsoll::binaries
