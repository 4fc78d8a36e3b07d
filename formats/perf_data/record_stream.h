// The records of a recording, one after the other, as they lie in the file.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "formats/perf_data/block_reader.h"
#include "formats/perf_data/decompressor.h"
#include "formats/perf_data/file_header.h"
#include "formats/perf_data/limits.h"

namespace plimsoll::perf_data {

// Kinds of records that perf itself writes (enum perf_user_event_type); the kernel's are PERF_RECORD_*.
enum class RecordType : uint32_t {
  kAttribute = 64,
  kEventType = 65,
  kTracingData = 66,
  kBuildId = 67,
  kFinishedRound = 68,
  kAuxTrace = 71,
  kEventUpdate = 78,
  kFeature = 80,
  kCompressed = 81,
  kCompressed2 = 83,
};

struct RawRecord {
  perf_event_header header{};
  Bytes bytes{};        // with the header; empty: there are no more
  uint64_t offset = 0;  // in the file; of the compressed record that it came in
};

// One thread. Passes over what follows some records outside of them, and takes compressed ones apart.
class RecordStream {
 public:
  // Borrows `file`. `records` is where they lie.
  RecordStream(BlockReader& file, Section records, const Limits& limits)
      : file_(file),
        offset_(records.offset),
        end_(records.offset + records.size_bytes),
        decompressor_(limits.max_decompressed_bytes, max_inflated_bytes(file.size_bytes(), limits)) {}

  // The next one, borrowed until the next call. An error says at which offset what was wrong.
  Result<RawRecord> next();

  // Of processors' traces (AUXTRACE), passed over so far.
  uint64_t trace_bytes() const { return trace_bytes_; }

 private:
  static uint64_t max_inflated_bytes(uint64_t file_bytes, const Limits& limits);
  Result<RawRecord> read_plain();
  Status pass_payload(const RawRecord& record);
  Status feed(const RawRecord& record);
  Result<Bytes> next_compressed();

  BlockReader& file_;
  uint64_t offset_;
  const uint64_t end_;
  Decompressor decompressor_;
  uint64_t compressed_at_ = 0;  // offset of the compressed record that was read last
  std::string compressed_;
  uint64_t trace_bytes_ = 0;
};

}  // namespace plimsoll::perf_data
