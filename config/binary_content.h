// How much of a binary leaves a machine: keys of the daemon's configuration and of the server's.
#pragma once

#include <string_view>

#include "base/result.h"

namespace plimsoll::config {

// kInvalid for what is none of the choices. (elf/binary_part.h knows what they are.)
inline Status check_binary_content(std::string_view content) {
  const bool is_known = content == "symbols" || content == "debug" || content == "code";
  return is_known ? Status()
                  : with_hint(with_field(fail(ErrorCode::kInvalid, "no such choice: \"{}\"", content),
                                         "binaries.content"),
                              "write \"symbols\", \"debug\" or \"code\"");
}

}  // namespace plimsoll::config
