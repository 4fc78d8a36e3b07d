// All that a recording says of itself, wherever it stands in the file.
#pragma once

#include "formats/perf_data/block_reader.h"
#include "formats/perf_data/file_header.h"
#include "formats/perf_data/limits.h"
#include "formats/perf_data/metadata.h"

namespace plimsoll::perf_data {

struct RecordingHeader {
  Metadata metadata;  // with names of events
  Section records;
};

// One that was written into a pipe is read once from end to end, since build IDs come last.
Result<RecordingHeader> read_recording_header(BlockReader& file, const Limits& limits);

}  // namespace plimsoll::perf_data
