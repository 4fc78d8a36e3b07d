#include "formats/decompress.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <span>

namespace plimsoll::formats {

// What one step of a codec took and gave.
struct CodecStep {
  size_t consumed = 0;
  size_t produced = 0;
  bool may_end = false;  // a whole stream was decompressed, and nothing is held back
};

// Makes progress in each step that has input and room for output.
class DecompressionStream::Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;
  // `is_last`: nothing comes after `input`.
  virtual Result<CodecStep> step(Bytes input, std::span<char> output, bool is_last) = 0;
};

namespace {

using Codec = DecompressionStream::Codec;

// Profiles shrink 3 to 20 times; deflate can do 1032, bzip2 and xz much more.
constexpr uint64_t kMaxRatio = 256;
constexpr uint64_t kAlwaysPermittedBytes = uint64_t{1} << 20;
constexpr size_t kOutputBytes = size_t{128} << 10;
// A stream may ask for a window that is larger than memory. xz -9 takes 65 MiB, zstd --ultra -22 takes 128 MiB.
constexpr uint64_t kMaxCodecMemory = uint64_t{160} << 20;
constexpr int kMaxZstdWindowLog = 27;

std::unexpected<Error> damaged(std::string_view why) {
  return fail(ErrorCode::kCorrupt, "the compressed content is damaged: {}", why);
}

class GzipCodec final : public Codec {
 public:
  GzipCodec() : ready_(::inflateInit2(&stream_, kGzipHeader) == Z_OK) {}
  ~GzipCodec() override { ::inflateEnd(&stream_); }

  Result<CodecStep> step(Bytes input, std::span<char> output, bool /*is_last*/) override {
    if (!ready_) {
      return fail(ErrorCode::kExhausted, "decompressing: no memory");
    }
    if (ended_ && input.empty()) {
      return CodecStep{0, 0, true};
    }
    if (ended_) {
      ::inflateReset(&stream_);
    }
    // zlib's input pointer is not const, but it is not written to.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output.data());
    stream_.avail_out = static_cast<uInt>(output.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    // Z_BUF_ERROR: neither input nor output was left, which more input may change.
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return damaged(stream_.msg != nullptr ? stream_.msg : "zlib refuses it");
    }
    ended_ = status == Z_STREAM_END;
    return CodecStep{input.size() - stream_.avail_in, output.size() - stream_.avail_out, ended_};
  }

 private:
  static constexpr int kGzipHeader = 15 + 16;  // zlib's code for "the largest window, and a gzip header"
  z_stream stream_{};
  bool ready_;
  bool ended_ = false;
};

class XzCodec final : public Codec {
 public:
  XzCodec() : ready_(::lzma_stream_decoder(&stream_, kMaxCodecMemory, LZMA_CONCATENATED) == LZMA_OK) {}
  ~XzCodec() override { ::lzma_end(&stream_); }

  Result<CodecStep> step(Bytes input, std::span<char> output, bool is_last) override {
    if (!ready_) {
      return fail(ErrorCode::kExhausted, "decompressing: no memory");
    }
    if (ended_) {
      return CodecStep{0, 0, true};
    }
    stream_.next_in = reinterpret_cast<const uint8_t*>(input.data());
    stream_.avail_in = input.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(output.data());
    stream_.avail_out = output.size();
    const lzma_ret status = ::lzma_code(&stream_, is_last ? LZMA_FINISH : LZMA_RUN);
    if (status == LZMA_MEMLIMIT_ERROR) {
      return fail(ErrorCode::kTooLarge, "decompressing takes more than the {} bytes of memory permitted",
                  kMaxCodecMemory);
    }
    if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR) {
      return damaged(fmt::format("xz error {}", static_cast<int>(status)));
    }
    ended_ = status == LZMA_STREAM_END;
    return CodecStep{input.size() - stream_.avail_in, output.size() - stream_.avail_out, ended_};
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_;
  bool ended_ = false;
};

class ZstdCodec final : public Codec {
 public:
  ZstdCodec() : context_(::ZSTD_createDCtx()) {
    if (context_ != nullptr) {
      ::ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
    }
  }
  ~ZstdCodec() override { ::ZSTD_freeDCtx(context_); }

  Result<CodecStep> step(Bytes input, std::span<char> output, bool /*is_last*/) override {
    if (context_ == nullptr) {
      return fail(ErrorCode::kExhausted, "decompressing: no memory");
    }
    if (ended_ && input.empty()) {
      return CodecStep{0, 0, true};
    }
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const size_t hint = ::ZSTD_decompressStream(context_, &out, &in);
    if (::ZSTD_isError(hint) != 0) {
      return damaged(::ZSTD_getErrorName(hint));
    }
    ended_ = hint == 0;
    return CodecStep{in.pos, out.pos, ended_};
  }

 private:
  ZSTD_DCtx* const context_;
  bool ended_ = false;
};

class Bzip2Codec final : public Codec {
 public:
  Bzip2Codec() : ready_(::BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK) {}
  ~Bzip2Codec() override { ::BZ2_bzDecompressEnd(&stream_); }

  Result<CodecStep> step(Bytes input, std::span<char> output, bool /*is_last*/) override {
    if (ended_ && input.empty()) {
      return CodecStep{0, 0, true};
    }
    if (ended_) {
      ::BZ2_bzDecompressEnd(&stream_);
      stream_ = {};
      ready_ = ::BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
    }
    if (!ready_) {
      return fail(ErrorCode::kExhausted, "decompressing: no memory");
    }
    stream_.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<unsigned>(input.size());
    stream_.next_out = output.data();
    stream_.avail_out = static_cast<unsigned>(output.size());
    const int status = ::BZ2_bzDecompress(&stream_);
    if (status != BZ_OK && status != BZ_STREAM_END) {
      return damaged(fmt::format("bzip2 error {}", status));
    }
    ended_ = status == BZ_STREAM_END;
    return CodecStep{input.size() - stream_.avail_in, output.size() - stream_.avail_out, ended_};
  }

 private:
  bz_stream stream_{};
  bool ready_;
  bool ended_ = false;
};

std::unique_ptr<Codec> make_codec(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipCodec>();
    case Compression::kXz:
      return std::make_unique<XzCodec>();
    case Compression::kZstd:
      return std::make_unique<ZstdCodec>();
    case Compression::kBzip2:
      return std::make_unique<Bzip2Codec>();
    case Compression::kNone:
      break;
  }
  return nullptr;
}

// "BZh", the level, and the magic number of a block, or of the end where there is none. Text may begin with "BZh".
bool looks_bzipped(std::string_view text) {
  constexpr std::string_view kBlock = "\x31\x41\x59\x26\x53\x59";
  constexpr std::string_view kEnd = "\x17\x72\x45\x38\x50\x90";
  return text.size() >= kCompressionMagicBytes && text.starts_with("BZh") && text[3] >= '1' &&
         text[3] <= '9' && (text.substr(4).starts_with(kBlock) || text.substr(4).starts_with(kEnd));
}

}  // namespace

Compression compression_of(Bytes beginning) {
  using std::string_view_literals::operator""sv;
  const std::string_view text = as_text(beginning);
  if (text.starts_with("\x1f\x8b"sv)) {
    return Compression::kGzip;
  }
  if (text.starts_with("\xfd\x37zXZ\0"sv)) {
    return Compression::kXz;
  }
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) {
    return Compression::kZstd;
  }
  return looks_bzipped(text) ? Compression::kBzip2 : Compression::kNone;
}

const char* compression_name(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "gzip";
    case Compression::kXz:
      return "xz";
    case Compression::kZstd:
      return "zstd";
    case Compression::kBzip2:
      return "bzip2";
    case Compression::kNone:
      break;
  }
  return "no";
}

PullBytes pull_from(Bytes content) {
  return [content, is_taken = false]() mutable -> Result<Bytes> {
    return std::exchange(is_taken, true) ? Bytes() : content;
  };
}

uint64_t max_decompressed_bytes(uint64_t compressed_bytes, uint64_t max_bytes) {
  const bool is_huge = compressed_bytes > UINT64_MAX / kMaxRatio;
  return std::min(max_bytes,
                  is_huge ? UINT64_MAX : std::max(kAlwaysPermittedBytes, compressed_bytes * kMaxRatio));
}

DecompressionStream::DecompressionStream(Compression compression, PullBytes source, uint64_t max_bytes)
    : compression_(compression),
      source_(std::move(source)),
      max_bytes_(max_bytes),
      codec_(make_codec(compression)),
      piece_(codec_ ? kOutputBytes : 0, '\0') {}

DecompressionStream::~DecompressionStream() = default;

Status DecompressionStream::refill() {
  // zlib and bzip2 count in 32 bits.
  constexpr size_t kMaxInputBytes = size_t{1} << 30;
  if (pulled_.empty() && !source_ended_) {
    auto pulled = source_();
    if (!pulled) {
      return propagate(pulled);
    }
    pulled_ = *pulled;
    source_ended_ = pulled_.empty();
  }
  if (input_.empty()) {
    input_ = pulled_.first(std::min(pulled_.size(), kMaxInputBytes));
    pulled_ = pulled_.subspan(input_.size());
  }
  return {};
}

Result<Bytes> DecompressionStream::count(Bytes piece) {
  content_bytes_ += piece.size();
  if (content_bytes_ > max_bytes_) {
    return fail(ErrorCode::kTooLarge, "the {} content is larger than the {} bytes permitted",
                codec_ ? "decompressed" : "whole", max_bytes_);
  }
  return piece;
}

Result<Bytes> DecompressionStream::next() {
  if (!failed_) {
    return propagate(failed_);
  }
  auto piece = decompress_piece();
  if (!piece) {
    failed_ = propagate(piece);
  }
  return piece;
}

Result<Bytes> DecompressionStream::decompress_piece() {
  while (true) {
    if (input_.empty()) {
      if (auto refilled = refill(); !refilled) {
        return propagate(refilled);
      }
    }
    if (!codec_) {
      return count(std::exchange(input_, {}));
    }
    const auto step = codec_->step(input_, piece_, source_ended_);
    if (!step) {
      return propagate(step, "decompressing {}", compression_name(compression_));
    }
    input_ = input_.subspan(step->consumed);
    if (step->produced > 0) {
      return count(as_bytes(piece_).first(step->produced));
    }
    if (step->consumed == 0 && (source_ended_ || !input_.empty())) {
      return step->may_end && input_.empty()
                 ? Result<Bytes>(Bytes())
                 : fail(ErrorCode::kCorrupt, "decompressing {}: the compressed content ends too early",
                        compression_name(compression_));
    }
  }
}

Result<std::string> decompress(Bytes compressed, uint64_t max_bytes) {
  const uint64_t limit = max_decompressed_bytes(compressed.size(), max_bytes);
  DecompressionStream stream(compression_of(compressed), pull_from(compressed), limit);
  std::string content;
  while (true) {
    const auto piece = stream.next();
    if (!piece) {
      return propagate(piece, "decompressing {} bytes", compressed.size());
    }
    if (piece->empty()) {
      return content;
    }
    content += as_text(*piece);
  }
}

}  // namespace plimsoll::formats
