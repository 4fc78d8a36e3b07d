// How a perf.data file begins: tools/perf/Documentation/perf.data-file-format.txt in the Linux sources.
#pragma once

#include <array>
#include <cstdint>

#include "formats/perf_data/block_reader.h"

namespace plimsoll::perf_data {

struct Section {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

// Numbers of the feature sections that are read (HEADER_* in perf).
enum class Feature : uint64_t {
  kBuildIds = 2,
  kHostname = 3,
  kOsRelease = 4,
  kPerfVersion = 5,
  kArchitecture = 6,
  kCpuCount = 7,
  kCpuDescription = 8,
  kCpuId = 9,
  kTotalMemory = 10,
  kEventDescriptions = 12,
  kGroupDescriptions = 17,
  kClockData = 29,
};
inline constexpr unsigned kFeatureBits = 256;
// All that stands before the first record of a recording that was written into a pipe.
inline constexpr uint64_t kPipeHeaderBytes = 16;

struct FileHeader {
  // Written into a pipe: everything follows as records, and the fields below say nothing.
  bool is_pipe = false;
  uint64_t attribute_bytes = 0;  // of one entry of `attributes`
  Section attributes{};
  Section data{};
  Section event_types{};  // names of events, before perf 3.10
  std::array<uint64_t, kFeatureBits / 64> features{};

  bool has_feature(unsigned bit) const { return (features[bit / 64] >> (bit % 64) & 1U) != 0; }
};

// By the first bytes: a recording of perf, of either byte order.
bool looks_like_recording(Bytes content);

// kUnsupported for a recording of a big-endian machine. Of one that perf did not finish, the data has no size.
Result<FileHeader> read_file_header(BlockReader& file);

}  // namespace plimsoll::perf_data
