// Recordings of bursts as bytes:
//
//   magic "PLIMBRST" | version u32 | reserved u32 | length u64 | checksum u64 (XXH3 of what follows) | zstd(content)
//
// The content is a row of varints and texts, events by column with differences of times: docs/bursts.md. Pure; any thread.
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

// Version 1 has no draw, and no kinds of events after page faults; version 2 has no samples and no events of applications. Both are read.
inline constexpr uint32_t kBurstFileVersion = 3;

struct BurstFileLimits {
  uint64_t max_encoded_bytes = uint64_t{512} << 20;
  uint64_t max_decoded_bytes = uint64_t{1} << 30;
  // Each takes 40 bytes of memory, and 5 of the content at least.
  uint64_t max_events = 50'000'000;
};

std::string encode_bursts(const BurstRecording& recording);

// Bytes may be anything. Framing, checksum, sizes and every index are checked; events are in the order of time.
Result<BurstRecording> decode_bursts(Bytes encoded, const BurstFileLimits& limits = {});

// Whether the bytes are those that encode_bursts() made: framing and checksum alone, without decoding. kUnsupported for another
// version.
Status check_burst_framing(Bytes encoded);

}  // namespace plimsoll::traces
