#include "store/clickhouse/server_version.h"

#include <charconv>
#include <system_error>

namespace plimsoll::store::clickhouse {

Result<ServerVersion> parse_version(std::string_view text) {
  ServerVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  const bool has_minor = major.ec == std::errc() && major.ptr != end && *major.ptr == '.';
  const auto minor = has_minor ? std::from_chars(major.ptr + 1, end, version.minor) : major;
  if (!has_minor || minor.ec != std::errc()) {
    return fail(ErrorCode::kUnsupported, "the server says that its version is \"{}\"", text.substr(0, 80));
  }
  return version;
}

}  // namespace plimsoll::store::clickhouse
