// The content of gzipped bytes, for tests of what writes them. Needs PkgConfig::zlib.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <string>

namespace plimsoll::testing {

inline std::string gunzip(std::string compressed) {
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string content;
  int status = Z_OK;
  while (status == Z_OK) {
    std::array<char, 4096> part{};
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    status = ::inflate(&stream, Z_NO_FLUSH);
    content.append(part.data(), part.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END) << "these are not gzipped bytes";
  ::inflateEnd(&stream);
  return content;
}

}  // namespace plimsoll::testing
