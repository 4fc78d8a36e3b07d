// Content compressed as gzip, xz, zstd and bzip2 do it, and tar archives.
#pragma once

#include <bzlib.h>
#include <fmt/core.h>
#include <lzma.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/gzip.h"

namespace plimsoll::testing {

inline std::string gzipped(std::string_view content) {
  return formats::gzip(as_bytes(content)).value_or("");
}

inline std::string xz_compressed(std::string_view content) {
  std::string compressed(::lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  ::lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(content.data()),
                            content.size(), reinterpret_cast<uint8_t*>(compressed.data()), &size,
                            compressed.size());
  compressed.resize(size);
  return compressed;
}

inline std::string zstd_compressed(std::string_view content) {
  std::string compressed(::ZSTD_compressBound(content.size()), '\0');
  compressed.resize(::ZSTD_compress(compressed.data(), compressed.size(), content.data(), content.size(), 3));
  return compressed;
}

inline std::string bzip2_compressed(std::string_view content) {
  std::string compressed(content.size() + content.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned>(compressed.size());
  ::BZ2_bzBuffToBuffCompress(compressed.data(), &size, const_cast<char*>(content.data()),
                             static_cast<unsigned>(content.size()), 9, 0, 0);
  compressed.resize(size);
  return compressed;
}

// A member of a tar archive (POSIX ustar); `type` '0' is a regular file.
inline std::string tar_member(std::string_view name, std::string_view content, char type = '0',
                              int64_t modified_s = 1'700'000'000) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 8, std::string_view("0000644\0", 8));
  header.replace(124, 12, fmt::format("{:011o}{}", content.size(), '\0'));
  header.replace(136, 12, fmt::format("{:011o}{}", modified_s, '\0'));
  header.replace(148, 8, "        ");
  header[156] = type;
  header.replace(257, 8, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char byte : header) {
    sum += static_cast<unsigned char>(byte);
  }
  header.replace(148, 8, fmt::format("{:06o}{} ", sum, '\0'));
  header += content;
  header.append((512 - content.size() % 512) % 512, '\0');
  return header;
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace plimsoll::testing
