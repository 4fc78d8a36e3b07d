// What the spool knows of a profile, or of a recording of bursts, on disk without opening its file: everything is in the file's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::spool {

inline constexpr size_t kIdBytes = 16;
inline constexpr std::string_view kProfileSuffix = "profile";

struct SpooledProfile {
  uint64_t sequence = 0;  // from 1, in the order in which profiles were spooled; never used twice
  std::string id;         // 16 bytes
  int64_t spooled_s = 0;  // wall clock, seconds since 1970
  bool has_kernel_symbols = false;
  uint64_t disk_bytes = 0;  // what its file takes; not in the name
};

// "0000000000000042.0123456789abcdef0123456789abcdef.1795000000.k.profile"; ".k" only with kernel symbols. `suffix`: of the
// spool's kind.
std::string file_name_of(const SpooledProfile& profile, std::string_view suffix = kProfileSuffix);

// The inverse; nothing for any other name.
std::optional<SpooledProfile> parse_file_name(std::string_view name,
                                              std::string_view suffix = kProfileSuffix);

// The room that a file of so many bytes takes: whole blocks, and its entry in the folder.
uint64_t disk_bytes_of(uint64_t file_bytes);

}  // namespace plimsoll::spool
