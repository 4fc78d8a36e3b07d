// Gzip (RFC 1952), as pprof profiles are compressed. Reading it is formats/decompress.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::formats {

// One gzip member, made piece by piece: what is appended is compressed at once, and only the compressed bytes are kept. Its header holds no
// time: equal content gives equal bytes, however it was cut. One thread; 300 kB beside the compressed bytes.
class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  GzipWriter(GzipWriter&&) noexcept;
  GzipWriter& operator=(GzipWriter&&) noexcept;

  Status append(Bytes content);
  // What was appended, before compression.
  uint64_t content_bytes() const;
  // Call once, and nothing after it.
  Result<std::string> finish();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

// All at once.
Result<std::string> gzip(Bytes content);

}  // namespace plimsoll::formats
