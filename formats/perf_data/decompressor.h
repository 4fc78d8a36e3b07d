// Records that perf compressed (perf record -z): one zstd stream that goes on from record to record.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

struct ZSTD_DCtx_s;

namespace plimsoll::perf_data {

// One thread. Memory: a piece of 128 KiB, what zstd keeps, and the begin of a record whose end is yet to come.
class Decompressor {
 public:
  // Of one compressed record, and of all.
  Decompressor(uint64_t max_record_bytes, uint64_t max_stream_bytes);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // The content of the next compressed record, borrowed until its last piece was taken.
  void feed(Bytes compressed);

  // The next whole record that was compressed, its header included; nothing where more must be fed. Borrowed until the
  // next call. Errors speak of the content, and not of where it lay.
  Result<Bytes> next();

  // Forgets what it holds: nothing comes until something is fed again.
  void stop();

  // Whether a record was begun and not ended.
  bool is_within_record() const { return begin_ < piece_.size(); }

 private:
  Status inflate();

  const uint64_t max_record_bytes_;
  const uint64_t max_stream_bytes_;
  std::unique_ptr<ZSTD_DCtx_s, void (*)(ZSTD_DCtx_s*)> context_;
  Bytes compressed_;
  bool may_hold_more_ = false;   // decompressed, but not handed out by zstd
  uint64_t inflated_bytes_ = 0;  // of the record that was fed last
  uint64_t stream_bytes_ = 0;    // of all
  std::string piece_;
  size_t begin_ = 0;  // of what is left of it
};

}  // namespace plimsoll::perf_data
