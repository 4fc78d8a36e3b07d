// Any profile of an application, told apart by its content.
#pragma once

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

// pprof, legacy heap and growth text, contention text; each gzipped or not. kCorrupt, with the known formats as a hint,
// where it is none of them.
Result<ApplicationProfile> read_profile(Bytes content, const Limits& limits = {});

}  // namespace plimsoll::formats
