// The records of a recording, one after the other, as they lie in the file.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>

#include "formats/perf_data/block_reader.h"
#include "formats/perf_data/damage.h"
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

// Whether a record is what it seems: kCorrupt says why it is not. `is_guess`: nothing but its bytes says that a record begins
// there.
using RecordCheck = std::function<Status(Bytes record, bool is_guess)>;

struct RawRecord {
  perf_event_header header{};
  Bytes bytes{};        // with the header; empty: there are no more
  uint64_t offset = 0;  // in the file; of the compressed record that it came in
  bool was_compressed = false;
};

// One thread. Passes over what follows some records outside of them, and takes compressed ones apart.
//
// Goes on behind what is damaged: at the next place where a row of sound records begins, which is told by their headers and by
// `check`. What lay between is in the log. Compressed records are one stream, so that nothing follows damage among them.
class RecordStream {
 public:
  // Borrows `file` and `damage`. `records` is where they lie; without `check` a record is sound if its header is.
  RecordStream(BlockReader& file, Section records, const Limits& limits, DamageLog& damage,
               RecordCheck check = {})
      : file_(file),
        damage_(damage),
        check_(std::move(check)),
        offset_(records.offset),
        end_(records.offset + records.size_bytes),
        decompressor_(limits.max_decompressed_bytes, max_inflated_bytes(file.size_bytes(), limits)) {}

  // The next sound one, borrowed until the next call. Errors are of reading the file, and of limits (kTooLarge).
  Result<RawRecord> next();

  // Of processors' traces (AUXTRACE), passed over so far.
  uint64_t trace_bytes() const { return trace_bytes_; }

 private:
  static uint64_t max_inflated_bytes(uint64_t file_bytes, const Limits& limits);
  Result<RawRecord> next_unchecked();
  Result<RawRecord> read_plain();
  Status pass_damage(const RawRecord& record, const Error& error);
  Result<uint64_t> next_sound_place(uint64_t from);
  Result<bool> sound_records_begin(uint64_t at);
  Status pass_payload(const RawRecord& record);
  Status feed(const RawRecord& record);
  Result<Bytes> next_compressed();

  BlockReader& file_;
  DamageLog& damage_;
  const RecordCheck check_;
  uint64_t offset_;
  uint64_t read_at_ = 0;  // where the record begins that was read last
  bool has_compressed_ = false;
  const uint64_t end_;
  Decompressor decompressor_;
  uint64_t compressed_at_ = 0;  // offset of the compressed record that was read last
  std::string compressed_;
  uint64_t trace_bytes_ = 0;
};

}  // namespace plimsoll::perf_data
