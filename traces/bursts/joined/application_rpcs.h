// RPCs that applications tell of: begins and ends of one process put together. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

struct ApplicationRpc {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // of the burst where its own is missing
  uint64_t request_bytes = 0;
  uint64_t answer_bytes = 0;  // of a whole one
  uint32_t thread = 0;        // that began it
  uint32_t detail = 0;        // of its begin: index of BurstRecording::details
  bool is_in = false;         // it came from a peer
  bool is_whole = false;      // with both ends
  bool operator==(const ApplicationRpc&) const = default;
};

// In the order in which they begin. Ends without a begin in the burst are left out.
std::vector<ApplicationRpc> application_rpcs(const BurstRecording& recording, const Burst& burst);

// Method, annotation or name of a phase; the peer of an RPC. Any bytes.
inline std::string_view text_of_detail(const BurstRecording& recording, uint64_t detail) {
  return recording.texts[recording.details[detail].text];
}
inline std::string_view peer_of_detail(const BurstRecording& recording, uint64_t detail) {
  return recording.texts[recording.details[detail].peer];
}

}  // namespace plimsoll::traces
