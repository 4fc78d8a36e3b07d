#include "cli/bursts_files.h"

#include "base/file.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::cli {

Result<traces::BurstRecording> read_burst_file(const std::string& path) {
  const traces::BurstFileLimits limits;
  const auto bytes = read_file(path, limits.max_encoded_bytes);
  if (!bytes) {
    return propagate(bytes);
  }
  auto recording = traces::decode_bursts(as_bytes(*bytes), limits);
  return recording ? std::move(recording) : propagate(recording, "reading {}", path);
}

}  // namespace plimsoll::cli
