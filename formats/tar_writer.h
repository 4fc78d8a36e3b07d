// Tar archives, written: regular files alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::formats {

// What stands before the content of a file: POSIX's header, with GNU's long name before it where the name has more than 100 bytes. The content
// follows, padded with zero bytes to kTarBlockBytes. kTooLarge for 8 GiB and more.
Result<std::string> tar_head(std::string_view name, uint64_t size_bytes);

// Behind the last file.
std::string tar_end();

}  // namespace plimsoll::formats
