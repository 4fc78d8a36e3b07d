// All that a recording says of itself, wherever it stands in the file.
#pragma once

#include "formats/perf_data/block_reader.h"
#include "formats/perf_data/damage.h"
#include "formats/perf_data/file_header.h"
#include "formats/perf_data/limits.h"
#include "formats/perf_data/metadata.h"

namespace plimsoll::perf_data {

struct RecordingHeader {
  Metadata metadata;  // with names of events
  Section records;    // within the file
};

// One that was written into a pipe is read once from end to end, since build IDs come last. What is missing of a recording
// that was cut off or not finished by perf goes into the log; kCorrupt where its events cannot be read.
Result<RecordingHeader> read_recording_header(BlockReader& file, const Limits& limits, DamageLog& damage);

}  // namespace plimsoll::perf_data
