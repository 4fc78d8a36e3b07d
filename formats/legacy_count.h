// Text that counts stacks, as Go's runtime/pprof writes with debug=1:
//
//   goroutine profile: total 7
//   5 @ 0x401000 0x402000
//   #  0x400fff  main.work+0x1f  /src/main.go:7
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

bool looks_like_legacy_count(std::string_view text);

// One type, called as the profile is ("goroutine", "threadcreate", or a program's own), that counts. Lines with "#"
// are passed over: they say what symbols say.
Result<ApplicationProfile> read_legacy_count(std::string_view text, const Limits& limits = {});

}  // namespace plimsoll::formats
