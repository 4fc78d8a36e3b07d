#include "formats/gzip.h"

#include <zlib.h>

#include <algorithm>

namespace plimsoll::formats {
namespace {

// Profiles shrink 3 to 20 times; deflate can do 1032.
constexpr uint64_t kMaxRatio = 256;
constexpr uint64_t kAlwaysPermittedBytes = uint64_t{1} << 20;
constexpr size_t kChunkBytes = size_t{64} << 10;
constexpr int kGzipWindow = 15 + 16;  // zlib's code for "the largest window, and a gzip header"

class Inflater {
 public:
  Inflater() : ready_(::inflateInit2(&stream_, kGzipWindow) == Z_OK) {}
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream_); }

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

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
    return fail(ErrorCode::kIo, "compressing {} bytes: zlib ended with {}", content.size(), ended);
  }
  return compressed;
}

bool looks_gzipped(Bytes bytes) {
  return as_text(bytes).starts_with("\x1f\x8b");
}

Result<std::string> gunzip(Bytes compressed, uint64_t max_bytes) {
  if (compressed.size() > UINT32_MAX) {
    return fail(ErrorCode::kTooLarge, "inflating {} bytes", compressed.size());
  }
  Inflater inflater;
  if (!inflater.ready()) {
    return fail(ErrorCode::kUnavailable, "inflating {} bytes: no memory", compressed.size());
  }
  const uint64_t limit = std::min(max_bytes, std::max(kAlwaysPermittedBytes, compressed.size() * kMaxRatio));
  z_stream& stream = inflater.stream();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string content;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t used = content.size();
    // One byte over the limit, to tell a content that just fits from one that does not.
    const size_t room = static_cast<size_t>(std::min<uint64_t>(kChunkBytes, limit + 1 - used));
    content.resize(used + room);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    status = ::inflate(&stream, Z_NO_FLUSH);
    content.resize(used + room - stream.avail_out);
    if (content.size() > limit) {
      return fail(ErrorCode::kTooLarge, "inflating {} bytes: they become more than the {} permitted",
                  compressed.size(), limit);
    }
  }
  if (status != Z_STREAM_END) {
    return fail(ErrorCode::kCorrupt, "inflating {} bytes: {}", compressed.size(),
                stream.msg != nullptr ? stream.msg : "they end too early");
  }
  if (stream.avail_in != 0) {
    return fail(ErrorCode::kCorrupt, "inflating {} bytes: {} more follow the compressed content",
                compressed.size(), stream.avail_in);
  }
  return content;
}

}  // namespace plimsoll::formats
