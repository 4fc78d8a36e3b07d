// Request traces in the formats of other tools, distinguished by content.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "traces/model/span_set.h"

namespace plimsoll::formats {

enum class TraceFormat : uint8_t { kTable, kOtlp, kOtlpJson, kZipkin, kJaeger, kCallLog };
// "OTLP JSON" and so on.
const char* name_of(TraceFormat format);

// Bounds on what is read, checked before anything of that size is allocated.
struct TraceLimits {
  uint64_t max_decoded_bytes = uint64_t{2} << 30;
  uint64_t max_json_bytes = uint64_t{64}
                            << 20;  // of one document, which takes some ten times as much while it is read
};

struct SpansRead {
  TraceFormat format = TraceFormat::kTable;
  uint64_t taken = 0;
  uint64_t rejected = 0;        // spans without IDs, with impossible times or unreadable parents
  std::string first_rejection;  // why the first of them was
};

// A file or request: plain, or compressed (gzip, xz, zstd, bzip2). JSON may be a document a line, as collectors write files. kCorrupt
// where it is damaged or of no known format, kTooLarge beyond limits; what was read before that stays in `spans`.
//
// Per second and core, about: 3 million spans of a table, 4 million of Protobuf, 150,000 of JSON.
Result<SpansRead> read_spans(Bytes content, traces::SpanSet& spans, const TraceLimits& limits = {});

}  // namespace plimsoll::formats
