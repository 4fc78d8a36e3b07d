#include "formats/gzip.h"

#include <zlib.h>

namespace plimsoll::formats {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's code for "the largest window, and a gzip header"

}  // namespace

Result<std::string> gzip(Bytes content) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return fail(ErrorCode::kIo, "starting to compress {} bytes: {}", content.size(),
                stream.msg ? stream.msg : "zlib failed");
  }
  std::string compressed(::deflateBound(&stream, content.size()), '\0');
  // zlib's input pointer is not const, but it is not written to.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int ended = ::deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (ended != Z_STREAM_END) {
    return fail(ErrorCode::kIo, "compressing {} bytes: zlib returned {}", content.size(), ended);
  }
  return compressed;
}

}  // namespace plimsoll::formats
