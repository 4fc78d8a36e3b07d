// Content that gzip, xz, zstd or bzip2 compressed, told by its first bytes. The one place that decompresses what users bring:
// whole in memory (profiles, tables), or piece by piece (recordings, archives). Bounded; untrusted bytes. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::formats {

enum class Compression : uint8_t { kNone, kGzip, kXz, kZstd, kBzip2 };

// By the first bytes of a file; kCompressionMagicBytes are enough.
inline constexpr size_t kCompressionMagicBytes = 10;
Compression compression_of(Bytes beginning);
const char* compression_name(Compression compression);

// The next bytes of a content, borrowed until the next call; none at its end.
using PullBytes = std::function<Result<Bytes>()>;
// Bytes in memory, which are borrowed.
PullBytes pull_from(Bytes content);

// What `compressed_bytes` may become: `max_bytes`, or a plausible multiple of what came in where that is less. A few
// kilobytes cannot claim a gigabyte.
uint64_t max_decompressed_bytes(uint64_t compressed_bytes, uint64_t max_bytes);

// Takes several streams, one after the other, for one content, as the tools do (`cat a.gz b.gz`, pigz, pbzip2, pzstd).
class DecompressionStream {
 public:
  // kNone hands on what it pulls.
  DecompressionStream(Compression compression, PullBytes source, uint64_t max_bytes);
  ~DecompressionStream();
  DecompressionStream(const DecompressionStream&) = delete;
  DecompressionStream& operator=(const DecompressionStream&) = delete;

  // As PullBytes. kTooLarge once the content is larger than `max_bytes`; kCorrupt where it is damaged or ends too early. After an
  // error there is nothing but that error.
  Result<Bytes> next();

  class Codec;

 private:
  Status refill();
  Result<Bytes> decompress_piece();
  Result<Bytes> count(Bytes piece);

  const Compression compression_;
  const PullBytes source_;
  const uint64_t max_bytes_;
  const std::unique_ptr<Codec> codec_;
  std::string piece_;
  Bytes pulled_;  // what is left of what the source gave
  Bytes input_;   // the part of it that is being decompressed
  bool source_ended_ = false;
  uint64_t content_bytes_ = 0;
  Status failed_;
};

// The whole content, at most max_decompressed_bytes(compressed.size(), max_bytes) of it.
Result<std::string> decompress(Bytes compressed, uint64_t max_bytes);

}  // namespace plimsoll::formats
