// The bounds of a batch, which both sides know.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace plimsoll::server {

inline constexpr size_t kMaxRelayedEntries = 1000;
// Of a batch, unless one entry alone is larger.
inline constexpr size_t kMaxRelayedBytes = size_t{16} << 20;
// Of an entry beside its body: credentials come in a head of a few KiB.
inline constexpr size_t kMaxBytesBesideRelayedBody = size_t{64} << 10;

// What the primary takes at once, where `max_upload_bytes` is the size of the largest profile.
constexpr size_t max_relay_body_bytes(size_t max_upload_bytes) {
  return std::max(kMaxRelayedBytes, max_upload_bytes) + kMaxBytesBesideRelayedBody;
}

// Different threads of the primary handle them, so that none waits for another: registrations and heartbeats; profiles; recordings of bursts.
inline constexpr std::string_view kRelayMachinesPath = "/fleet/v1/relay/machines";
inline constexpr std::string_view kRelayProfilesPath = "/fleet/v1/relay/profiles";
inline constexpr std::string_view kRelayRecordingsPath = "/fleet/v1/relay/recordings";

}  // namespace plimsoll::server
