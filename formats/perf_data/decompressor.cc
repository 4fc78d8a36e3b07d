#include "formats/perf_data/decompressor.h"

#include <linux/perf_event.h>
#include <zstd.h>

namespace plimsoll::perf_data {
namespace {

void free_context(ZSTD_DCtx* context) {
  ZSTD_freeDCtx(context);
}

}  // namespace

Decompressor::Decompressor(uint64_t max_record_bytes, uint64_t max_stream_bytes)
    : max_record_bytes_(max_record_bytes),
      max_stream_bytes_(max_stream_bytes),
      context_(ZSTD_createDCtx(), free_context) {}

Decompressor::~Decompressor() = default;

void Decompressor::feed(Bytes compressed) {
  compressed_ = compressed;
  may_hold_more_ = true;
  inflated_bytes_ = 0;
}

void Decompressor::stop() {
  compressed_ = {};
  may_hold_more_ = false;
  piece_.clear();
  begin_ = 0;
}

Status Decompressor::inflate() {
  piece_.erase(0, begin_);
  begin_ = 0;
  const size_t kept = piece_.size();
  piece_.resize(kept + ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{compressed_.data(), compressed_.size(), 0};
  ZSTD_outBuffer out{piece_.data() + kept, piece_.size() - kept, 0};
  const size_t result = context_ == nullptr ? 0 : ZSTD_decompressStream(context_.get(), &out, &in);
  piece_.resize(kept + out.pos);
  if (context_ == nullptr || ZSTD_isError(result) != 0) {
    return fail(ErrorCode::kCorrupt, "its compressed content is damaged ({})",
                context_ == nullptr ? "no memory" : ZSTD_getErrorName(result));
  }
  compressed_ = compressed_.subspan(in.pos);
  may_hold_more_ = out.pos == out.size || !compressed_.empty();
  inflated_bytes_ += out.pos;
  if (inflated_bytes_ > max_record_bytes_) {
    return fail(ErrorCode::kTooLarge, "it has more than {} bytes", max_record_bytes_);
  }
  stream_bytes_ += out.pos;
  if (stream_bytes_ > max_stream_bytes_) {
    return fail(ErrorCode::kTooLarge, "with those before it, it has more than {} bytes", max_stream_bytes_);
  }
  return {};
}

Result<Bytes> Decompressor::next() {
  while (true) {
    const Bytes left = as_bytes(piece_).subspan(begin_);
    ByteReader reader(left);
    const auto header = reader.read<perf_event_header>();
    if (reader.ok() && header.size < sizeof header) {
      return fail(ErrorCode::kCorrupt, "a record in it has {} bytes", header.size);
    }
    if (reader.ok() && header.size <= left.size()) {
      begin_ += header.size;
      return left.first(header.size);
    }
    if (!may_hold_more_) {
      return Bytes();
    }
    if (auto inflated = inflate(); !inflated) {
      return propagate(inflated);
    }
  }
}

}  // namespace plimsoll::perf_data
