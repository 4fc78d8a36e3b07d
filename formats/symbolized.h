// Files that bring the names of their addresses, as `pprof --raw` and `plimsoll export --gperftools` write them:
//
//   --- symbol
//   binary=/srv/server
//   0x0000000000401000 main
//   0x0000000000402000 load--read          read() was inlined into load()
//   ---
//   --- heap
//   heap profile: ...                      any profile of a format that has addresses
#pragma once

#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

bool looks_symbolized(std::string_view text);

// Locations whose addresses have names have frames. kCorrupt with the line, or what the profile's own reader says.
Result<ApplicationProfile> read_symbolized(Bytes content, const Limits& limits = {});

}  // namespace plimsoll::formats
