// What a spool holds: profiles, or recordings of bursts. Each kind has a folder, limits, counts and an uploader of its own, so that
// neither displaces nor delays the other.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::spool {

struct SpoolKind {
  std::string_view noun;          // "profile", in messages
  std::string_view nouns;         // of several
  std::string_view suffix;        // of its files' names
  std::string_view bytes_key;     // of the configuration
  std::string_view upload_path;   // with the ID behind it
  std::string_view content_type;  // of an upload
  uint64_t max_encoded_bytes;
  Status (*check)(Bytes encoded);  // whether a file holds what was written
};

// Both live as long as the process. Any thread.
const SpoolKind& kind_of_profiles();
const SpoolKind& kind_of_recordings();

}  // namespace plimsoll::spool
