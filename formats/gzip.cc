#include "formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace plimsoll::formats {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's code for "the largest window, and a gzip header"
constexpr size_t kGzipOutputBytes = size_t{64} << 10;
constexpr size_t kMaxInputBytes = size_t{1} << 30;  // zlib counts the input of a call in 32 bits

}  // namespace

struct GzipWriter::Stream {
  Stream() {
    is_started =
        ::deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Stream() {
    if (is_started) {
      ::deflateEnd(&zlib);
    }
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Gives zlib's last status. Takes all of the input that it has been given.
  int run(int flush) {
    int status = Z_OK;
    do {
      zlib.next_out = reinterpret_cast<Bytef*>(output.data());
      zlib.avail_out = static_cast<uInt>(output.size());
      status = ::deflate(&zlib, flush);
      compressed.append(output.data(), output.size() - zlib.avail_out);
    } while (status == Z_OK && zlib.avail_out == 0);
    return status;
  }

  z_stream zlib{};
  bool is_started = false;
  uint64_t content_bytes = 0;
  std::vector<char> output = std::vector<char>(kGzipOutputBytes);
  std::string compressed;
};

GzipWriter::GzipWriter() : stream_(std::make_unique<Stream>()) {}
GzipWriter::~GzipWriter() = default;
GzipWriter::GzipWriter(GzipWriter&&) noexcept = default;
GzipWriter& GzipWriter::operator=(GzipWriter&&) noexcept = default;

Status GzipWriter::append(Bytes content) {
  if (!stream_->is_started) {
    return fail(ErrorCode::kIo, "starting to compress: zlib has no memory");
  }
  stream_->content_bytes += content.size();
  while (!content.empty()) {
    const Bytes part = content.first(std::min(content.size(), kMaxInputBytes));
    // zlib's input pointer is not const, but it is not written to.
    stream_->zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
    stream_->zlib.avail_in = static_cast<uInt>(part.size());
    // Z_BUF_ERROR: the output of the call before was just full, and there is no more.
    if (const int status = stream_->run(Z_NO_FLUSH); status != Z_OK && status != Z_BUF_ERROR) {
      return fail(ErrorCode::kIo, "compressing {} bytes: zlib returned {}", part.size(), status);
    }
    content = content.subspan(part.size());
  }
  return {};
}

uint64_t GzipWriter::content_bytes() const {
  return stream_->content_bytes;
}

Result<std::string> GzipWriter::finish() {
  if (!stream_->is_started) {
    return fail(ErrorCode::kIo, "starting to compress: zlib has no memory");
  }
  if (const int status = stream_->run(Z_FINISH); status != Z_STREAM_END) {
    return fail(ErrorCode::kIo, "ending {} compressed bytes: zlib returned {}", stream_->content_bytes,
                status);
  }
  return std::move(stream_->compressed);
}

Result<std::string> gzip(Bytes content) {
  GzipWriter writer;
  if (auto appended = writer.append(content); !appended) {
    return propagate(appended);
  }
  return writer.finish();
}

}  // namespace plimsoll::formats
