#include "elf/compressed_section.h"

#include <elf.h>
#include <libdeflate.h>
#include <zstd.h>

#include <bit>
#include <memory>
#include <span>

namespace plimsoll::elf {
namespace {

constexpr uint32_t kZlib = 1;  // ELFCOMPRESS_ZLIB
constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which not every <elf.h> has

// The most that deflate can make of a byte is 1,032 (zlib, "Technical Details").
constexpr uint64_t kMaxZlibExpands = 1032;

bool inflate_whole(Bytes stream, std::span<char> out) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&::libdeflate_free_decompressor)> decompressor(
      ::libdeflate_alloc_decompressor(), &::libdeflate_free_decompressor);
  // Without a place for the size it has to be that of `out`.
  return decompressor != nullptr &&
         ::libdeflate_zlib_decompress(decompressor.get(), stream.data(), stream.size(), out.data(),
                                      out.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

bool unzstd_whole(Bytes stream, std::span<char> out) {
  return ::ZSTD_decompress(out.data(), out.size(), stream.data(), stream.size()) == out.size();
}

Result<std::string> decompress(Bytes stream, uint32_t algorithm, uint64_t size_bytes, uint64_t max_bytes) {
  if (algorithm != kZlib && algorithm != kZstd) {
    return fail(ErrorCode::kUnsupported, "a section compressed by algorithm {}", algorithm);
  }
  if (size_bytes > max_bytes) {
    return fail(ErrorCode::kTooLarge, "a compressed section of {} bytes; at most {} are read", size_bytes,
                max_bytes);
  }
  // Checked first: the header's word alone would have all of it allocated.
  const bool is_possible = algorithm == kZlib
                               ? size_bytes / kMaxZlibExpands <= stream.size()
                               : ::ZSTD_getFrameContentSize(stream.data(), stream.size()) == size_bytes;
  if (!is_possible) {
    return fail(ErrorCode::kCorrupt, "a section of {} compressed bytes does not have {}", stream.size(),
                size_bytes);
  }
  std::string out;
  // Sections have hundreds of megabytes: they are not filled with zeros first.
  out.resize_and_overwrite(static_cast<size_t>(size_bytes), [&](char* begin, size_t size) {
    const std::span<char> whole(begin, size);
    return (algorithm == kZlib ? inflate_whole(stream, whole) : unzstd_whole(stream, whole)) ? size : 0;
  });
  if (out.size() != size_bytes) {
    return fail(ErrorCode::kCorrupt, "a compressed section of {} bytes is damaged", stream.size());
  }
  return out;
}

}  // namespace

Result<std::string> decompress_section(Bytes bytes, Compression compression, uint64_t max_bytes) {
  if (compression == Compression::kNone) {
    return std::string(as_text(bytes));
  }
  ByteReader reader(bytes);
  uint32_t algorithm = kZlib;
  uint64_t size_bytes = 0;
  if (compression == Compression::kHeader) {
    const auto header = reader.read<Elf64_Chdr>();
    algorithm = header.ch_type;
    size_bytes = header.ch_size;
  } else {
    constexpr uint32_t kMagic = std::bit_cast<uint32_t>(std::array<char, 4>{'Z', 'L', 'I', 'B'});
    algorithm = reader.read<uint32_t>() == kMagic ? kZlib : 0;
    size_bytes = __builtin_bswap64(reader.read<uint64_t>());
  }
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "a compressed section of {} bytes has no header", bytes.size());
  }
  return decompress(bytes.subspan(reader.offset()), algorithm, size_bytes, max_bytes);
}

}  // namespace plimsoll::elf
